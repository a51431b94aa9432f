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
    const short *winner;        // (images, H / 2, W / 2, D): which of its numbers a pooling takes: 0, 1, W or W + 1; -1 for none
    const real *vectors;        // (images or 1, H / 2, W / 2, D, V): the slopes of what the pooling leaves, V >= OUT for each
    const real *weights;        // (D, 3, 3, C)
    real *target;               // (images, H, W, C, V), but (images, OUT, C, H, W) at the first convolution
    long long step;             // from the vectors of an image to those of the next
};

constexpr int WARPS = 8, SUMS = C * OUT, ROWS = H / 2, COLUMNS = W / 2, QUADS = (OUT + 3) / 4, V = 4 * QUADS;
constexpr int WIDE = (C + 31) / 32;                  // channels of a lane, where a lane has all outputs of its channels
constexpr int TEAMS = OUT < 32 ? 32 / OUT : 1;       // teams of lanes, where a lane has all channels of its output

struct __align__(16) Quad {
    real a, b, c, d;
};

__shared__ int factor[WARPS][4 * D], vector[WARPS][4 * D];
__shared__ __align__(16) real stage[FIRST ? W * TEAMS * SUMS : WARPS * C * V];

// Those of the winners around a place that lie in its window: how many, where their weights are and where their slopes.
__device__ __forceinline__ int listed(const short *winner, int y, int x, int warp, int lane) {
    int count = 0;
    for (int cell = 0; cell < 4; cell++) {
        const int row = (y - 1 + (cell & 2)) >> 1, column = (x - 1 + 2 * (cell & 1)) >> 1;
        const bool there = row >= 0 && row < ROWS && column >= 0 && column < COLUMNS && x < W;
        for (int first = 0; first < D; first += 32) {
            const int c = first + lane, at = (row * COLUMNS + column) * D + c;
            const int which = there && c < D ? winner[at] : -1;
            const int low = which >= W, up = y + 1 - 2 * row - low, left = x + 1 - 2 * column - (which - low * W);
            const bool met = which >= 0 && up >= 0 && up < 3 && left >= 0 && left < 3;
            const unsigned all = __ballot_sync(0xffffffffu, met);
            if (met) {
                const int k = count + __popc(all & ((1u << lane) - 1));
                factor[warp][k] = (9 * c + 3 * up + left) * C;
                vector[warp][k] = at * V;
            }
            count += __popc(all);
        }
    }
    __syncwarp();
    return count;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 2) train(const Task task) {
    const int y = blockIdx.x % H, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long image = blockIdx.x / H;
    const short *winner = task.winner + image * ROWS * COLUMNS * D;
    const real *vectors = task.vectors + image * task.step;
    for (int turn = 0; turn < (W + WARPS - 1) / WARPS; turn++) {  // as many turns for each warp: all meet behind the loop
        const int x = turn * WARPS + warp, count = listed(winner, y, x, warp, lane);
        if (FIRST) {  // few channels: a lane for each output, and teams that share the winners
            const int team = lane / OUT, o = lane % OUT;
            if (team < TEAMS && x < W) {
                for (int more = o; more < OUT; more += 32) {
                    real sum[C];
#pragma unroll
                    for (int c = 0; c < C; c++) sum[c] = 0;
#pragma unroll 4
                    for (int k = team; k < count; k += TEAMS) {
                        const real *w = task.weights + factor[warp][k];
                        const real v = vectors[vector[warp][k] + more];
#pragma unroll
                        for (int c = 0; c < C; c++) sum[c] += w[c] * v;
                    }
#pragma unroll
                    for (int c = 0; c < C; c++) stage[(x * TEAMS + team) * SUMS + more * C + c] = sum[c];
                }
            }
        } else {  // many: a lane for each channel
            real *out = stage + warp * C * V;
#pragma unroll
            for (int i = 0; i < WIDE; i++) {
                const int c = lane + 32 * i < C ? lane + 32 * i : C - 1;
                real sum[V];
#pragma unroll
                for (int o = 0; o < V; o++) sum[o] = 0;
#pragma unroll 2
                for (int k = 0; k < count; k++) {
                    const real w = task.weights[factor[warp][k] + c];
                    const Quad *v = (const Quad *)(vectors + vector[warp][k]);
#pragma unroll
                    for (int q = 0; q < QUADS; q++) {
                        const Quad four = v[q];
                        sum[4 * q] += w * four.a;
                        sum[4 * q + 1] += w * four.b;
                        sum[4 * q + 2] += w * four.c;
                        sum[4 * q + 3] += w * four.d;
                    }
                }
                Quad *quads = (Quad *)(out + c * V);
#pragma unroll
                for (int q = 0; q < QUADS; q++) quads[q] = Quad{sum[4 * q], sum[4 * q + 1], sum[4 * q + 2], sum[4 * q + 3]};
            }
            __syncwarp();
            if (x < W) {
                Quad *to = (Quad *)(task.target + ((image * H + y) * W + x) * C * V);
                for (int j = lane; j < C * QUADS; j += 32) to[j] = ((const Quad *)out)[j];
            }
        }
        __syncwarp();
    }
    __syncthreads();
    if (FIRST)
        for (int j = threadIdx.x; j < SUMS * W; j += 32 * WARPS) {
            const int x = j % W, s = j / W;  // s = output * C + channel
            real sum = 0;
            for (int team = 0; team < TEAMS; team++) sum += stage[(x * TEAMS + team) * SUMS + s];
            task.target[((image * SUMS + s) * H + y) * W + x] = sum;
        }
}
