static void fibre() {
    train(*given);
    finished[threadIdx.x] = true;
}
