// What the kernels of foldnet/engines/kernels take from CUDA, on a processor: the threads of a block are fibres that run in turn
// from one meeting point to the next, so that shuffles and votes do what they do on a GPU. The kernel's text follows this one.
#include <ucontext.h>

#include <cmath>
#include <cstring>
#include <vector>

using std::fabs;
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Place {
    int x;
};
static Place threadIdx, blockIdx;
static ucontext_t scheduler, fibres[1024];
static bool finished[1024];
static double mail[1024];

static void meet() {
    int me = threadIdx.x;
    swapcontext(&fibres[me], &scheduler);
    threadIdx.x = me;
}
static void __syncwarp() { meet(); }
static void __syncthreads() { meet(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int other) {
    mail[threadIdx.x] = value;
    meet();
    T got = (T)mail[threadIdx.x ^ other];
    meet();
    return got;
}
static bool __any_sync(unsigned, bool vote) {
    mail[threadIdx.x] = vote;
    meet();
    bool any = false;
    for (int k = 0; k < 32; k++) any = any || mail[threadIdx.x / 32 * 32 + k] != 0;
    meet();
    return any;
}
static unsigned __ballot_sync(unsigned, bool vote) {
    mail[threadIdx.x] = vote;
    meet();
    unsigned all = 0;
    for (int k = 0; k < 32; k++) all |= (unsigned)(mail[threadIdx.x / 32 * 32 + k] != 0) << k;
    meet();
    return all;
}
#define __popc(x) __builtin_popcount(x)
#define __expf(x) expf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __fdividef(a, b) ((a) / (b))

struct Task;
extern "C" void train(const Task task);
static const Task *given;
static void fibre();

extern "C" void launch(const Task *task, int blocks, int threads) {
    std::vector<std::vector<char>> stacks(threads, std::vector<char>(1 << 18));
    given = task;
    for (int block = 0; block < blocks; block++) {
        blockIdx.x = block;
        for (int k = 0; k < threads; k++) {
            getcontext(&fibres[k]);
            fibres[k].uc_stack.ss_sp = stacks[k].data();
            fibres[k].uc_stack.ss_size = stacks[k].size();
            fibres[k].uc_link = &scheduler;
            finished[k] = false;
            makecontext(&fibres[k], fibre, 0);
        }
        for (int left = threads; left;) {
            left = 0;
            for (int k = 0; k < threads; k++) {
                if (finished[k]) continue;
                threadIdx.x = k;
                swapcontext(&scheduler, &fibres[k]);
                left += !finished[k];
            }
        }
    }
}
