// Trains many small networks at once, all epochs in one launch: LANES lanes of a warp for each network (1, 2, 4, ..., 32).
//
// Everything that is a size is a constant of the compilation, defined above this text by `_cuda_plan.py`:
//   REAL            float or double; SINGLE is defined for float
//   SIZES, DEPTH    the layers, `4, 3, 1`, and how many affine maps there are, 2
//   N               points
//   ACTIVATION      0 (leaky) ReLU, 1 tanh, 2 |x|, 3 GELU, 4 sine; of the last three the slopes are kept beside the values
//   LOSS            0 squares, 1 binary cross-entropy, 2 cross-entropy of a softmax
//   ADAM, BATCHES   0 or 1: Adam (with its BETA1, BETA2, EPSILON) or plain descent, mini-batches or all points at once
//   LOOKS           1: the loss is wanted at every epoch; 0: only at the marked ones, otherwise just whether it is finite
//   LANES, THREADS  lanes for a network, threads of a block
//   BLOCKS          blocks that a multiprocessor shall hold at once, which bounds the registers of a thread
//   WHOLE           1: a lane adds up the gradient of all parameters over its points; 0: lanes add up after each point
//   APART           1: Adam's moments in shared memory; 0: in registers
//   FLAT            1: the points of an epoch are written out one after the other (one lane only), 0: a loop
//   POINTS          with FLAT, where defined: the points themselves, numbers of the code
//   WORDS           targets are bits, that many words for each network; 0: they are numbers
//
// One lane: the network lives in its registers. More: lane l takes points l, l + LANES, ...; weights lie in shared memory,
// where all lanes read the same one at the same time; activations and slopes stay in registers; parameter k of a layer is moved by
// lane k % LANES. Nothing here needs a header, so NVRTC compiles it, and so does any C++17 compiler with the shim of the tests.

typedef REAL real;

struct Task {
    real *theta, *first, *second;  // (networks, P)
    const real *x;                 // value i of point p for network b at (p * IN + i) * x_step + b * x_own
    const void *y;                 // targets likewise, or their bits: word k of network b at k * y_step + b * y_own
    const real *rate;              // (networks)
    const real *pace;              // for each step 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
    const int *order;              // with BATCHES, for each epoch an order of the points
    const int *who;                // (count), the networks to train
    real *loss, *history;          // (networks), (marks, networks)
    long long *stop;               // (networks), the epoch at which each was frozen
    long long networks, x_step, x_own, y_step, y_own;
    double leak, until, share, share_batch, share_rest;  // a share is what the error of one output counts in the loss
    int count, now, epochs, every, final, size, marks, unused;
};

constexpr int SIZE[] = {SIZES};
constexpr int IN = SIZE[0], OUT = SIZE[DEPTH];

// Layer L: its parameters begin at `start`, weights row by row and then biases; what it gives begins at `top` of the activations;
// those of its parameters that one lane owns begin at `slot`.
template <int L>
struct Layer {
    static constexpr int in = SIZE[L], out = SIZE[L + 1], parameters = (in + 1) * out;
    static constexpr int start = Layer<L - 1>::start + Layer<L - 1>::parameters;
    static constexpr int top = Layer<L - 1>::top + in;
    static constexpr int slots = (parameters + LANES - 1) / LANES;
    static constexpr int slot = Layer<L - 1>::slot + Layer<L - 1>::slots;
};
template <>
struct Layer<0> {
    static constexpr int in = SIZE[0], out = SIZE[1], parameters = (in + 1) * out;
    static constexpr int start = 0, top = 0, slots = (parameters + LANES - 1) / LANES, slot = 0;
};
typedef Layer<DEPTH - 1> Last;
constexpr int P = Last::start + Last::parameters, UNITS = Last::top + OUT, SLOTS = Last::slot + Last::slots;
constexpr int SUMS = WHOLE ? P : SLOTS;  // how many sums of the gradient a lane keeps; with one lane both are P
// Networks of a warp begin four banks apart, so that their lanes read different ones.
constexpr int STRIDE = LANES == 1 ? P : (P + 27) / 32 * 32 + 4;
constexpr int ROOM = LANES == 1 ? 4 : THREADS / LANES * STRIDE * (APART && ADAM ? 3 : 1);

// ---- numbers -----------------------------------------------------------------------------------------------------------

#ifdef SINGLE
__device__ __forceinline__ real exponential(real x) { return __expf(x); }
__device__ __forceinline__ real quotient(real a, real b) { return __fdividef(a, b); }
__device__ __forceinline__ real root(real x) { return sqrtf(x); }
__device__ __forceinline__ real logarithm(real x) { return logf(x); }
__device__ __forceinline__ real size_of(real x) { return fabsf(x); }
__device__ __forceinline__ real hyperbolic_tangent(real x) {
    real e = __expf(-2.0f * fabsf(x));
    return copysignf(__fdividef(1.0f - e, 1.0f + e), x);
}
// The share of a normal distribution below x, by Abramowitz and Stegun (7.1.26, off by at most 1e-7), and its density there.
__device__ __forceinline__ void normal(real x, real &share, real &density) {
    real e = __expf(-0.5f * x * x), t = __fdividef(1.0f, 1.0f + 0.3275911f * 0.70710678f * fabsf(x));
    real series = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    real above = 0.5f * series * e;
    share = x < 0 ? above : 1.0f - above;
    density = 0.39894228f * e;
}
// The nearest multiple of 2 pi is taken away in two steps, so that the fast functions see what they are good for.
__device__ __forceinline__ void sine_and_cosine(real x, real &sine, real &cosine) {
    real turns = rintf(x * 0.15915494f), rest = (x - turns * 6.28125f) - turns * 1.9353072e-3f;
    sine = __sinf(rest);
    cosine = __cosf(rest);
}
// log(1 + x) for 0 <= x <= 1: 2 artanh(s) with s = x / (2 + x), by its series
__device__ __forceinline__ real logarithm_beyond_one(real x) {
    real s = __fdividef(x, 2.0f + x), q = s * s;
    real series = 1.0f / 7 + q * (1.0f / 9 + q * (1.0f / 11 + q * (1.0f / 13)));
    return 2.0f * s * (1.0f + q * (1.0f / 3 + q * (1.0f / 5 + q * series)));
}
#else
__device__ __forceinline__ real exponential(real x) { return exp(x); }
__device__ __forceinline__ real quotient(real a, real b) { return a / b; }
__device__ __forceinline__ real root(real x) { return sqrt(x); }
__device__ __forceinline__ real logarithm(real x) { return log(x); }
__device__ __forceinline__ real size_of(real x) { return fabs(x); }
__device__ __forceinline__ real hyperbolic_tangent(real x) { return tanh(x); }
__device__ __forceinline__ void normal(real x, real &share, real &density) {
    share = 0.5 * erfc(-0.70710678118654752 * x);
    density = 0.39894228040143268 * exp(-0.5 * x * x);
}
__device__ __forceinline__ void sine_and_cosine(real x, real &sine, real &cosine) {
    sine = sin(x);
    cosine = cos(x);
}
__device__ __forceinline__ real logarithm_beyond_one(real x) { return log1p(x); }
#endif

// ---- sums over the lanes of a network ----------------------------------------------------------------------------------

// Both are templates and no loops over `half`: such loops are not written out, and what they index leaves the registers.
template <int HALF = LANES / 2>
__device__ __forceinline__ real total(real value) {
    if constexpr (HALF == 0)
        return value;
    else
        return total<HALF / 2>(value + __shfl_xor_sync(0xffffffffu, value, HALF));
}

// Of LANES sums over the lanes, lane l gets the l-th: each exchange halves what a lane still carries.
template <int HALF = LANES / 2>
__device__ __forceinline__ real shared_out(const real *value, int lane) {
    if constexpr (HALF == 0) {
        return value[0];
    } else {
        const bool upper = lane & HALF;
        real half[HALF];
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            real give = upper ? value[k] : value[k + HALF], keep = upper ? value[k + HALF] : value[k];
            half[k] = keep + __shfl_xor_sync(0xffffffffu, give, HALF);
        }
        return shared_out<HALF / 2>(half, lane);
    }
}

// Weights are read from shared memory again where they are needed again: kept since the way up, they would fill the registers.
__device__ __forceinline__ void forget() {
    if constexpr (LANES > 1) __syncwarp();
}

// ---- the activation ----------------------------------------------------------------------------------------------------

constexpr bool KEPT = ACTIVATION >= 2;  // whether the slope cannot be read off the value

// What a hidden neuron makes of z; its slope there goes to `s`, if it is kept.
__device__ __forceinline__ real activated(real z, real leak, real &s) {
    if constexpr (ACTIVATION == 0) {
        return z > 0 ? z : leak * z;
    } else if constexpr (ACTIVATION == 1) {
        return hyperbolic_tangent(z);
    } else if constexpr (ACTIVATION == 2) {
        s = z > 0 ? real(1) : z < 0 ? real(-1) : real(0);
        return size_of(z);
    } else if constexpr (ACTIVATION == 3) {
        real share, density;
        normal(z, share, density);
        s = share + z * density;
        return z * share;
    } else {
        real sine;
        sine_and_cosine(z, sine, s);
        return sine;
    }
}

// A derivative by the value `a`, as one by what the neuron saw.
__device__ __forceinline__ real through(real e, real a, real s, real leak) {
    if constexpr (ACTIVATION == 0)
        return a > 0 ? e : leak * e;
    else if constexpr (ACTIVATION == 1)
        return e * (1 - a * a);
    else
        return e * s;
}

// ---- one point ---------------------------------------------------------------------------------------------------------

template <int L>
__device__ __forceinline__ void forward(const real *w, const real *x, real *a, real *s, real leak) {
    using layer = Layer<L>;
    const real *below = L ? a + layer::top - layer::in : x;
#pragma unroll
    for (int j = 0; j < layer::out; j++) {
        real z = w[layer::start + layer::in * layer::out + j];
#pragma unroll
        for (int i = 0; i < layer::in; i++) z += w[layer::start + j * layer::in + i] * below[i];
        a[layer::top + j] = L == DEPTH - 1 ? z : activated(z, leak, s[KEPT ? layer::top + j : 0]);
    }
    if constexpr (L + 1 < DEPTH) forward<L + 1>(w, x, a, s, leak);
}

// `d`, the derivative by what layer L gives, becomes sums in `g` and goes on to the layer below.
template <int L>
__device__ __forceinline__ void backward(const real *w, const real *x, const real *a, const real *kept, const real *d, real *g, real leak,
                                         int lane) {
    using layer = Layer<L>;
    constexpr int weights = layer::in * layer::out;
    forget();
    const real *below = L ? a + layer::top - layer::in : x;
    if constexpr (WHOLE) {
#pragma unroll
        for (int j = 0; j < layer::out; j++) {
            g[layer::start + weights + j] += d[j];
#pragma unroll
            for (int i = 0; i < layer::in; i++) g[layer::start + j * layer::in + i] += d[j] * below[i];
        }
    } else {
#pragma unroll
        for (int s = 0; s < layer::slots; s++) {
            real value[LANES];
#pragma unroll
            for (int k = 0; k < LANES; k++) {
                int number = s * LANES + k;
                value[k] = number < weights               ? d[number / layer::in] * below[number % layer::in]
                           : number < layer::parameters ? d[number - weights]
                                                        : real(0);
            }
            g[layer::slot + s] += shared_out(value, lane);
        }
    }
    if constexpr (L > 0) {
        real e[layer::in];
#pragma unroll
        for (int i = 0; i < layer::in; i++) e[i] = 0;
#pragma unroll
        for (int j = 0; j < layer::out; j++)
#pragma unroll
            for (int i = 0; i < layer::in; i++) e[i] += w[layer::start + j * layer::in + i] * d[j];
#pragma unroll
        for (int i = 0; i < layer::in; i++) e[i] = through(e[i], below[i], kept[KEPT ? layer::top - layer::in + i : 0], leak);
        backward<L - 1>(w, x, a, kept, e, g, leak, lane);
    }
}

// The derivative of the loss by the outputs; the loss itself only if FULL, otherwise 0 or, where it is not finite, NaN.
template <bool FULL>
__device__ __forceinline__ void judge(const real *o, const real *target, real share, real *d, real &loss) {
    if constexpr (LOSS == 0) {
#pragma unroll
        for (int j = 0; j < OUT; j++) {
            real error = o[j] - target[j];
            d[j] = 2 * share * error;
            loss += share * error * error;
        }
    } else if constexpr (LOSS == 1) {
#pragma unroll
        for (int j = 0; j < OUT; j++) {
            real e = exponential(-size_of(o[j]));
            d[j] = share * (quotient(o[j] >= 0 ? real(1) : e, 1 + e) - target[j]);
            loss += FULL ? share * ((o[j] > 0 ? o[j] : real(0)) - o[j] * target[j] + logarithm_beyond_one(e)) : 0 * o[j];
        }
    } else {
        real highest = o[0], sum = 0;
#pragma unroll
        for (int j = 1; j < OUT; j++) highest = o[j] > highest ? o[j] : highest;
#pragma unroll
        for (int j = 0; j < OUT; j++) sum += d[j] = exponential(o[j] - highest);
        real most = FULL ? highest + logarithm(sum) : real(0);
#pragma unroll
        for (int j = 0; j < OUT; j++) {
            d[j] = share * (quotient(d[j], sum) - target[j]);
            loss += FULL ? share * target[j] * (most - o[j]) : 0 * o[j];
        }
    }
}

#if FLAT && defined(POINTS)
__device__ constexpr real POINT[] = {POINTS};
#endif

// One point, forward and (if STEP) backward. WRITTEN: p is a constant of the code, and `bits` holds the targets if they are bits.
template <bool FULL, bool STEP, bool WRITTEN>
__device__ __forceinline__ void visit(const Task &task, long long b, int p, const unsigned *bits, real share, const real *w, real *g,
                                      real &loss, int lane) {
    const real leak = real(task.leak);
    real x[IN], target[OUT], a[UNITS], kept[KEPT ? UNITS : 1], d[OUT];
#pragma unroll
    for (int i = 0; i < IN; i++) {
#if FLAT && defined(POINTS)
        if constexpr (WRITTEN) {
            x[i] = POINT[p * IN + i];
            continue;
        }
#endif
        x[i] = task.x[(p * IN + i) * task.x_step + b * task.x_own];
    }
#pragma unroll
    for (int j = 0; j < OUT; j++) {
        int k = p * OUT + j;
#if WORDS
        unsigned word = WRITTEN ? bits[k / 32] : ((const unsigned *)task.y)[k / 32 * task.y_step + b * task.y_own];
        target[j] = word >> k % 32 & 1u ? real(1) : real(0);
#else
        target[j] = ((const real *)task.y)[k * task.y_step + b * task.y_own];
#endif
    }
    forward<0>(w, x, a, kept, leak);
    judge<FULL>(a + Last::top, target, share, d, loss);
    if constexpr (STEP) backward<DEPTH - 1>(w, x, a, kept, d, g, leak, lane);
}

// Points first, ..., beyond - 1 in this order (or in their own): adds to the gradient and to the loss.
template <bool FULL, bool STEP, bool WRITTEN>
__device__ __forceinline__ void pass(const Task &task, long long b, const int *order, int first, int beyond, const unsigned *bits,
                                     real share, const real *w, real *g, real &loss, int lane) {
    if constexpr (WRITTEN) {
#pragma unroll
        for (int p = 0; p < N; p++) visit<FULL, STEP, true>(task, b, p, bits, share, w, g, loss, lane);
    } else {
#pragma unroll 1
        for (int begin = first; begin < beyond; begin += LANES) {
            // lanes beyond the last point visit it once more, with a share of 0: all take part in the sums
            int place = begin + lane < beyond ? begin + lane : beyond - 1;
            visit<FULL, STEP, false>(task, b, order ? order[place] : place, bits, begin + lane < beyond ? share : real(0), w, g, loss,
                                     lane);
        }
    }
}

// ---- one step ----------------------------------------------------------------------------------------------------------

template <int L>
__device__ __forceinline__ void update(real *w, real *g, real *m, real *v, real rate, const real *pace, bool running, int lane) {
    using layer = Layer<L>;
    const real speed = ADAM ? rate * pace[0] : rate, scale = ADAM ? pace[1] : real(0);
#pragma unroll
    for (int s = 0; s < layer::slots; s++) {
        real slope;
        if constexpr (WHOLE && LANES > 1) {
            real value[LANES];
#pragma unroll
            for (int k = 0; k < LANES; k++) value[k] = s * LANES + k < layer::parameters ? g[layer::start + s * LANES + k] : real(0);
            slope = shared_out(value, lane);
        } else {
            slope = g[layer::slot + s];
        }
        int number = s * LANES + lane, k = layer::start + number, own = APART && LANES > 1 ? k : layer::slot + s;
        if (LANES > 1 && (!running || number >= layer::parameters)) continue;
        if constexpr (ADAM) {
            real mean = m[own] + real(1 - BETA1) * (slope - m[own]);
            real square = real(BETA2) * v[own] + real(1 - BETA2) * slope * slope;
            m[own] = mean;
            v[own] = square;
            w[k] -= quotient(speed * mean, scale * root(square) + real(EPSILON));
        } else {
            w[k] -= speed * slope;
        }
    }
    if constexpr (L + 1 < DEPTH) update<L + 1>(w, g, m, v, rate, pace, running, lane);
}

// Adam's moments between their place in a launch and their place in memory.
template <int L, bool LOAD>
__device__ __forceinline__ void carry(real *near, real *far, int lane) {
    using layer = Layer<L>;
#pragma unroll
    for (int s = 0; s < layer::slots; s++) {
        int number = s * LANES + lane, k = layer::start + number, own = APART && LANES > 1 ? k : layer::slot + s;
        if (LANES > 1 && number >= layer::parameters) continue;
        if constexpr (LOAD)
            near[own] = far[k];
        else
            far[k] = near[own];
    }
    if constexpr (L + 1 < DEPTH) carry<L + 1, LOAD>(near, far, lane);
}

// ---- all epochs --------------------------------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) train(const Task task) {
    const int lane = LANES == 1 ? 0 : threadIdx.x % LANES;
    const int place = (int)((blockIdx.x * (long long)THREADS + threadIdx.x) / LANES);
    const bool real_one = place < task.count;
    if (LANES == 1 && !real_one) return;
    const long long b = task.who[real_one ? place : 0];
    bool running = real_one;

    __shared__ __align__(16) real room[ROOM];
    real own[LANES == 1 ? P : 1], moments[ADAM && (LANES == 1 || !APART) ? 2 * SLOTS : 1], g[SUMS];
    real *const mine = room + (LANES == 1 ? 0 : threadIdx.x / LANES * STRIDE * (APART && ADAM ? 3 : 1));
    real *const w = LANES == 1 ? own : mine;
    real *const m = LANES > 1 && APART && ADAM ? mine + STRIDE : moments, *const v = m + (LANES > 1 && APART ? STRIDE : SLOTS);
    unsigned bits[WORDS ? WORDS : 1] = {};
    if constexpr (LANES == 1) {
#pragma unroll
        for (int k = 0; k < P; k++) w[k] = task.theta[b * P + k];
#pragma unroll
        for (int k = 0; k < WORDS; k++) bits[k] = ((const unsigned *)task.y)[k * task.y_step + b * task.y_own];
    } else {
        for (int k = lane; k < P; k += LANES) w[k] = task.theta[b * P + k];
    }
    if constexpr (ADAM) {
        carry<0, true>(m, task.first + b * P, lane);
        carry<0, true>(v, task.second + b * P, lane);
    }
    if constexpr (LANES > 1) __syncwarp();

    const real rate = task.rate[b], until = real(task.until);
    real seen = task.loss[b];
    const real *pace = task.pace;
    int mark = 0, to_mark = (task.every - task.now % task.every) % task.every;
    for (int epoch = task.now; epoch < task.now + task.epochs; epoch++) {
        // look: the loss on all data, and who stops; without mini-batches the gradient comes in the same pass
        const bool last = epoch == task.final, marked = last || to_mark == 0;
        real loss = 0;
#pragma unroll
        for (int k = 0; k < SUMS; k++) g[k] = 0;
        if constexpr (BATCHES) {
            pass<true, false, false>(task, b, nullptr, 0, N, bits, real(task.share), w, g, loss, lane);
        } else if constexpr (LOOKS) {
            pass<true, true, FLAT>(task, b, nullptr, 0, N, bits, real(task.share), w, g, loss, lane);
        } else {
            if (marked)
                pass<true, true, false>(task, b, nullptr, 0, N, bits, real(task.share), w, g, loss, lane);
            else
                pass<false, true, FLAT>(task, b, nullptr, 0, N, bits, real(task.share), w, g, loss, lane);
        }
        if constexpr (LANES > 1) loss = total(loss);
        if (running) {
            seen = loss;
            if (loss <= until || !(loss - loss == 0)) {
                running = false;
                if (lane == 0) task.stop[b] = epoch;
            }
        }
        if (marked) {
            if (real_one && lane == 0) task.history[mark * task.networks + b] = seen;
            mark++;
        }
        to_mark = to_mark == 0 ? task.every - 1 : to_mark - 1;
        if (last || (LANES == 1 ? !running : !__any_sync(0xffffffffu, running))) break;

        if constexpr (BATCHES) {
            const int *order = task.order + (long long)(epoch - task.now) * N;
            for (int first = 0; first < N; first += task.size) {
                const bool rest = first + task.size >= N;
                const int beyond = rest ? N : first + task.size;
#pragma unroll
                for (int k = 0; k < SUMS; k++) g[k] = 0;
                pass<false, true, false>(task, b, order, first, beyond, bits, real(rest ? task.share_rest : task.share_batch), w, g,
                                         loss, lane);
                if constexpr (LANES > 1) __syncwarp();
                update<0>(w, g, m, v, rate, pace, running, lane);
                if constexpr (LANES > 1) __syncwarp();
                if constexpr (ADAM) pace += 2;
            }
        } else {
            if constexpr (LANES > 1) __syncwarp();
            update<0>(w, g, m, v, rate, pace, running, lane);
            if constexpr (LANES > 1) __syncwarp();
            if constexpr (ADAM) pace += 2;
        }
    }

    if (!real_one) return;
    if (lane == 0) {
        for (; mark < task.marks; mark++) task.history[mark * task.networks + b] = seen;
        task.loss[b] = seen;
    }
    if constexpr (LANES == 1) {
#pragma unroll
        for (int k = 0; k < P; k++) task.theta[b * P + k] = w[k];
    } else {
        for (int k = lane; k < P; k += LANES) task.theta[b * P + k] = w[k];
    }
    if constexpr (ADAM) {
        carry<0, false>(m, task.first + b * P, lane);
        carry<0, false>(v, task.second + b * P, lane);
    }
}
