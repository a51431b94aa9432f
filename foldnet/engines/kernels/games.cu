// Plays many games of two networks at once, all steps of a call in one launch: a block for each game, a thread for each point.
//
// Constants of the compilation, defined above this text by `games.py`:
//   REAL   float or double; SINGLE is defined for float
//   H, B   hidden neurons of each player, points of a batch of data and of one of noise; H is even, 2 B a multiple of H and of 32
//
// Both players read and make points of the plane. Thread t is point t, data first and then forgeries; it is also neuron t % H,
// for the t / H-th part of all points; and it owns, in its registers, neuron t of the judge or neuron t - H of the maker. Every
// owner has the output biases of its network as well, and they all move them alike. What is computed is what
// `foldnet/splines/gans.py` says; nothing here needs a header.

typedef REAL real;

struct Task {
    real *x, *y, *squares;       // (games, PX), (games, PY), (games, PX + PY): makers, judges, mean squares of their gradients
    const real *scaled, *scale;  // (games): whether RMSprop is used, and the scale of the noise
    const real *data, *noise;    // (steps, seeds, B, 2); game g meets those of seed g % seeds
    const real *pace;            // (steps): 1 / (1 - decay^count)
    double lr, decay, tiny, damping;
    int seeds, steps, ridge, guarded, inner;
};

constexpr int PX = 5 * H + 2, PY = 4 * H + 1, THREADS = 2 * B, PARTS = THREADS / H, FORGED = B / PARTS, SUMS = 11;

struct __align__(16) Quad {
    real a, b, c, d;
};

__shared__ Quad judge[H], maker[H], turn[H], push[H];  // two weights, bias, weight that leaves; and directions for both
__shared__ real maker_out[H], push_out[H];             // the maker's second weight that leaves
__shared__ real rest[3], rest_way[3];                  // output biases, the judge's and then the maker's two, and directions
__shared__ Quad point[2 * B];                          // place, pull and bend
__shared__ Quad forged[B];                             // noise, and what pulls at the forgery
__shared__ Quad carried[2 * B];
__shared__ real partial[PARTS * SUMS * H], warps[2][THREADS / 32];

#ifdef SINGLE
__device__ __forceinline__ real exponential(real x) { return __expf(x); }
__device__ __forceinline__ real root(real x) { return sqrtf(x); }
#else
__device__ __forceinline__ real exponential(real x) { return exp(x); }
__device__ __forceinline__ real root(real x) { return sqrt(x); }
#endif

__device__ __forceinline__ real reads(const Quad &n, real p, real q) { return n.c + n.b * q + n.a * p; }

// The sum over all threads; two calls in turn use two sets of slots, so that one meeting is enough.
__device__ __forceinline__ real total(real value, real *slots) {
    for (int half = 16; half; half /= 2) value += __shfl_xor_sync(0xffffffffu, value, half);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int k = 0; k < THREADS / 32; k++) value += slots[k];
    return value;
}

// What a thread has summed up over its part of the points, `count` numbers, for the owners to gather.
__device__ __forceinline__ void hand_in(const real *sums, int count, int who, int part) {
#pragma unroll
    for (int k = 0; k < SUMS; k++)
        if (k < count) partial[(part * SUMS + k) * H + who] = sums[k];
    __syncthreads();
}
__device__ __forceinline__ real gathered(int k, int who) {
    real sum = 0;
    for (int part = 0; part < PARTS; part++) sum += partial[(part * SUMS + k) * H + who];
    return sum;
}

// Where parameter k of an owner lies in its network's row: weights and bias, weights that leave, output biases.
__device__ __forceinline__ int place(bool judges, int who, int k) {
    if (k < 3) return 3 * who + k;
    if (judges) return k == 3 ? 3 * H + who : 4 * H;
    return k < 5 ? 3 * H + 2 * who + k - 3 : 5 * H + k - 5;
}

// The change of the judge's parameters when `m` are moments, of points or of what is carried: two weights, bias, weight that leaves.
__device__ __forceinline__ void by_judge(const real *theta, const real *m, real *result) {
    for (int k = 0; k < 3; k++) result[k] = theta[3] * m[k];
    result[3] = theta[0] * m[0] + theta[1] * m[1] + theta[2] * m[2];
    result[4] = m[3];
}

__device__ __forceinline__ real product(const real *u, const real *v, bool first) {
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2] + u[3] * v[3] + (first ? u[4] * v[4] : (real)0);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) train(const Task task) {
    const int t = threadIdx.x, who = t % H, part = t / H;
    const long long game = blockIdx.x;
    const bool judges = t < H, makes = t >= H && t < 2 * H, scaled = task.scaled[game] != 0;
    const int owned = judges ? 5 : makes ? 7 : 0;
    const real lr = task.lr, decay = task.decay, tiny = task.tiny, damping = task.damping, scale = task.scale[game];
    real *row = judges ? task.y + game * PY : task.x + game * PX, *squares = task.squares + game * (PX + PY) + (judges ? PX : 0);
    real theta[7] = {}, square[7] = {}, step[7] = {};
#pragma unroll
    for (int k = 0; k < 7; k++)
        if (k < owned) theta[k] = row[place(judges, who, k)], square[k] = squares[place(judges, who, k)];

    for (int s = 0; s <= task.steps; s++) {
        if (judges) {
            judge[who] = {theta[0], theta[1], theta[2], theta[3]};
            if (who == 0) rest[0] = theta[4];
        } else if (makes) {
            maker[who] = {theta[0], theta[1], theta[2], theta[3]}, maker_out[who] = theta[4];
            if (who == 0) rest[1] = theta[5], rest[2] = theta[6];
        }
        if (s == task.steps) break;
        __syncthreads();

        // ---- points: forgeries, and what the judge says
        const real *from = (t < B ? task.data : task.noise) + (((long long)s * task.seeds + game % task.seeds) * B + t % B) * 2;
        real p = from[0], q = from[1], z0 = 0, z1 = 0;
        if (t >= B) {
            z0 = scale * p, z1 = scale * q, p = rest[1], q = rest[2];
            for (int j = 0; j < H; j++) {
                const Quad m = maker[j];
                const real h = reads(m, z0, z1);
                if (h > 0) p += h * m.d, q += h * maker_out[j];
            }
        }
        real slope0 = 0, slope1 = 0, slope2 = 0;
        for (int j = 0; j < H; j++) {
            const Quad n = judge[j];
            if (reads(n, p, q) > 0) slope0 += n.d * n.a, slope1 += n.d * n.b, slope2 += n.d * n.c;
        }
        const real sure = 1 / (1 + exponential(-(rest[0] + slope2 + slope1 * q + slope0 * p)));
        const real pull = ((t < B) - sure) / B, bend = (sure * sure - sure) / B;
        point[t] = {p, q, pull, bend};
        if (t >= B) forged[t - B] = {z0, z1, pull * slope0, pull * slope1};
        __syncthreads();

        // ---- neurons: gradients
        const Quad n = judge[who];
        {
            real sums[SUMS] = {};
            for (int k = part * H; k < part * H + H; k++) {
                const Quad d = point[k];
                if (reads(n, d.a, d.b) > 0) sums[0] += d.c * d.a, sums[1] += d.c * d.b, sums[2] += d.c;
                sums[3] += d.c;
            }
            const Quad m = maker[who];
            const real out = maker_out[who];
            for (int k = part * FORGED; k < part * FORGED + FORGED; k++) {
                const Quad f = forged[k];
                const real h = reads(m, f.a, f.b), inside = m.d * f.c + out * f.d;
                if (h > 0) {
                    sums[4] += inside * f.a, sums[5] += inside * f.b, sums[6] += inside;
                    sums[7] += h * f.c, sums[8] += h * f.d;
                }
                sums[9] += f.c, sums[10] += f.d;
            }
            hand_in(sums, SUMS, who, part);
        }
        real moments[4] = {};
        if (judges) {
            for (int k = 0; k < 4; k++) moments[k] = gathered(k, who);
            by_judge(theta, moments, step);
        } else if (makes) {
            for (int k = 0; k < 7; k++) step[k] = gathered(4 + k, who);
        }
#pragma unroll
        for (int k = 0; k < 7; k++) {
            square[k] = decay * square[k] + (1 - decay) * step[k] * step[k];
            if (scaled) step[k] /= root(square[k] * task.pace[s]) + tiny;
        }

        if (task.ridge) {
            // ---- how the judge's gradient changes when the maker moves
            if (makes) {
                push[who] = {step[0], step[1], step[2], step[3]}, push_out[who] = step[4];
                if (who == 0) rest_way[1] = step[5], rest_way[2] = step[6];
            }
            __syncthreads();
            if (t >= B) {
                real moved0 = rest_way[1], moved1 = rest_way[2];
                for (int j = 0; j < H; j++) {
                    const Quad m = maker[j], d = push[j];
                    const real h = reads(m, z0, z1), inside = reads(d, z0, z1);
                    if (h > 0) moved0 += inside * m.d + h * d.d, moved1 += inside * maker_out[j] + h * push_out[j];
                }
                const real change = bend * (slope0 * moved0 + slope1 * moved1);
                carried[t] = {change * p + pull * moved0, change * q + pull * moved1, change, 0};
            }
            __syncthreads();
            real sums[4] = {}, found[5] = {}, right[5] = {}, way[5] = {};
            for (int k = B + part * FORGED; k < B + part * FORGED + FORGED; k++) {
                const Quad d = point[k], c = carried[k];
                if (reads(n, d.a, d.b) > 0) sums[0] += c.a, sums[1] += c.b, sums[2] += c.c;
                sums[3] += c.c;
            }
            hand_in(sums, 4, who, part);
            if (judges) {
                for (int k = 0; k < 4; k++) sums[k] = gathered(k, who);
                by_judge(theta, sums, right);
                for (int k = 0; k < 5; k++) way[k] = right[k];
            }

            // ---- conjugate gradients for (damping - H_yy) found = right
            real size = total(product(right, right, t == 0), warps[0]);
            bool going = true;  // guarded, until a direction of no or negative curvature comes
            for (int round = 0; round < task.inner; round++) {
                if (judges) {
                    turn[who] = {way[0], way[1], way[2], way[3]};
                    if (who == 0) rest_way[0] = way[4];
                }
                __syncthreads();
                real change = rest_way[0];
                for (int j = 0; j < H; j++) {
                    const Quad m = judge[j], d = turn[j];
                    const real h = reads(m, p, q);
                    if (h > 0) change += m.d * reads(d, p, q) + d.d * h;
                }
                carried[t].d = bend * change;
                __syncthreads();
                real seen[4] = {}, image[5] = {};
                for (int k = part * H; k < part * H + H; k++) {
                    const Quad d = point[k];
                    const real c = carried[k].d;
                    if (reads(n, d.a, d.b) > 0) seen[0] += c * d.a, seen[1] += c * d.b, seen[2] += c;
                    seen[3] += c;
                }
                hand_in(seen, 4, who, part);
                if (judges) {
                    for (int k = 0; k < 4; k++) seen[k] = gathered(k, who);
                    by_judge(theta, seen, image);
                    for (int k = 0; k < 3; k++) image[k] += way[3] * moments[k], image[3] += way[k] * moments[k];
                    for (int k = 0; k < 5; k++) image[k] = damping * way[k] - image[k];
                }
                const real along = total(product(way, image, t == 0), warps[1]);
                going = going && (along > 0 || (!task.guarded && along != 0));
                const real far = going ? size / along : 0;
                for (int k = 0; k < 5; k++) found[k] += far * way[k], right[k] -= far * image[k];
                const real left = total(product(right, right, t == 0), warps[0]), again = size != 0 ? left / size : 0;
                for (int k = 0; k < 5; k++) way[k] = right[k] + again * way[k];
                size = left;
            }
            for (int k = 0; k < 5; k++) step[k] -= found[k];
        }
#pragma unroll
        for (int k = 0; k < 7; k++) theta[k] += judges ? lr * step[k] : -lr * step[k];
    }
#pragma unroll
    for (int k = 0; k < 7; k++)
        if (k < owned && (who == 0 || k < (judges ? 4 : 5)))
            row[place(judges, who, k)] = theta[k], squares[place(judges, who, k)] = square[k];
}
