// One convolution of 3 x 3 with its pooling read backwards, at many images: a block for each row of its input, a warp for each place.
//
// Constants of the compilation, defined above this text by `foldnet/geometry/_slopes_cuda.py`:
//   REAL          float or double
//   C, D, OUT     channels of the input, channels that the convolution gives, outputs of the network
//   H, W          height and width of the input
//   FIRST         1 where the input is the image, 0 where it is what another pooling leaves
//
// Of the D H W numbers that the convolution gives only those count that their pooling takes and ReLU lets through. The window of a
// place meets four poolings; their winners that lie in it are listed, and each adds OUT of its own slopes times C of its weights.
// Nothing here needs a header.

typedef REAL real;

struct Task {
    const signed char *winner;  // (images, H / 2, W / 2, D): which of its four numbers a pooling takes, row by row; -1 for 0
    const real *vectors;        // (images or 1, H / 2, W / 2, D, OUT): the slopes of what the pooling leaves
    const real *weights;        // (D, 3, 3, C)
    real *target;               // (images, H, W, C, OUT), but (images, OUT, C, H, W) at the first convolution
    long long step;             // from the vectors of an image to those of the next
};

constexpr int WARPS = 8, SUMS = C * OUT, EACH = (SUMS + 31) / 32, ROWS = H / 2, COLUMNS = W / 2;

__shared__ int factor[WARPS][4 * D], vector[WARPS][4 * D];
__shared__ real stage[FIRST ? W * SUMS : WARPS * SUMS];

extern "C" __global__ void __launch_bounds__(32 * WARPS, 2) train(const Task task) {
    const int y = blockIdx.x % H, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long image = blockIdx.x / H;
    const signed char *winner = task.winner + image * ROWS * COLUMNS * D;
    const real *vectors = task.vectors + image * task.step;
    for (int turn = 0; turn < (W + WARPS - 1) / WARPS; turn++) {  // as many turns for each warp: all meet behind the loop
        const int x = turn * WARPS + warp;
        int count = 0;
        for (int cell = 0; cell < 4; cell++) {
            const int row = (y - 1 + (cell & 2)) >> 1, column = (x - 1 + 2 * (cell & 1)) >> 1;
            const bool there = row >= 0 && row < ROWS && column >= 0 && column < COLUMNS && x < W;
            for (int first = 0; first < D; first += 32) {
                const int c = first + lane, at = (row * COLUMNS + column) * D + c;
                const int which = there && c < D ? winner[at] : -1;
                const int up = y + 1 - 2 * row - (which >> 1), left = x + 1 - 2 * column - (which & 1);
                const bool met = which >= 0 && up >= 0 && up < 3 && left >= 0 && left < 3;
                const unsigned all = __ballot_sync(0xffffffffu, met);
                if (met) {
                    const int k = count + __popc(all & ((1u << lane) - 1));
                    factor[warp][k] = (9 * c + 3 * up + left) * C;
                    vector[warp][k] = at * OUT;
                }
                count += __popc(all);
            }
        }
        __syncwarp();
        real sum[EACH];
        for (int i = 0; i < EACH; i++) sum[i] = 0;
#pragma unroll 2
        for (int k = 0; k < count; k++) {
            const real *w = task.weights + factor[warp][k], *v = vectors + vector[warp][k];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const int j = lane + 32 * i < SUMS ? lane + 32 * i : 0;
                sum[i] += w[j % C] * v[j / C];
            }
        }
        real *out = stage + (FIRST ? (x < W ? x : 0) : warp) * SUMS;
        for (int i = 0; i < EACH; i++) {
            const int j = lane + 32 * i;
            if (j < SUMS && x < W) out[FIRST ? j : j % C * OUT + j / C] = sum[i];
        }
        __syncwarp();
        if (!FIRST && x < W)
            for (int j = lane; j < SUMS; j += 32) task.target[((image * H + y) * W + x) * SUMS + j] = out[j];
        __syncwarp();
    }
    __syncthreads();
    if (FIRST)
        for (int j = threadIdx.x; j < SUMS * W; j += 32 * WARPS) {
            const int x = j % W, s = j / W;  // s = output * C + channel
            task.target[((image * SUMS + s) * H + y) * W + x] = stage[x * SUMS + s];
        }
}
