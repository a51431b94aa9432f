"""Slopes of networks at many images, compiled: only what is switched on is multiplied, and sums stay in registers."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import int64, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from .._compiled import compiled, ones

VECTORS = 8, 4  # how a sum is cut: the compiler makes long vectors of what registers there are, and three quarters waste none


# One function with others inside: what they write goes into one block of machine code, and a sum stays in its registers.
@intrinsic
def gather(
    typingctx, rows, lanes, source, begin, target, end, vectors, vector, factors, factor, row, at, part, parts, moves
):  # fmt: skip
    """Some `rows` at a time, r = at, at + 1, ...; row r gets, for as many numbers in a line as there are `lanes`,

        target[end[r] ...] = source[begin[r] ...] + the sum over k of factors[factor[k] + row[r]] * vectors[vector[k] ...]

    `rows` and `lanes` are tuples for their lengths alone. k runs through so many `parts`: part s from `part[3 s]` to
    `part[3 s + 1]`, with `part[3 s + 2]` added to the place of the factor, and the three `moves` to all of `begin`, `end` and
    `vector`. All arrays are flat. The sums stay in registers from the first k to the last, which no loop in numba does.
    """
    width = len(lanes)
    cuts = [VECTORS[0]] * (width // VECTORS[0]) + [VECTORS[1]] * (width % VECTORS[0] // VECTORS[1])
    if sum(cuts) != width:
        raise TypeError(f"a sum has a multiple of {VECTORS[1]} lanes; got {width}")
    places = np.cumsum([0, *cuts[:-1]]).tolist()
    arguments = rows, lanes, source, begin, target, end, vectors, vector, factors, factor, row, at, part, parts, moves

    def generate(context, builder, signature, values):
        real, word = context.get_value_type(source.dtype), ir.IntType(64)
        size, short = source.dtype.bitwidth // 8, ir.IntType(32)
        data = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values)
        ]
        _, _, source_, begin_, target_, end_, vectors_, vector_, factors_, factor_, row_, at_, part_, parts_, moves_ = data
        from_, to_, into_ = cgutils.unpack_tuple(builder, moves_)

        def item(array, index):
            return builder.load(builder.gep(array, [index]))

        def pieces(array, offset):
            for cut, place in zip(cuts, places):
                where = builder.gep(array, [builder.add(offset, word(place))])
                yield builder.bitcast(where, ir.VectorType(real, cut).as_pointer())

        def load(array, offset):
            found = []
            for piece in pieces(array, offset):
                found.append(builder.load(piece))
                found[-1].align = size
            return found

        def everywhere(value, cut):
            kind = ir.VectorType(real, cut)
            first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, short(0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(short, cut), [0] * cut))

        def add_product(total, value, v, cut):
            kind = ir.VectorType(real, cut)
            name = f"llvm.fma.v{cut}f{8 * size}"
            fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
            return builder.call(fma, [everywhere(value, cut), v, total])

        def loop(first, last, sums, body):
            """The sums after `body(index, sums)` from first to last."""
            before = builder.block
            test, inside, after = (builder.append_basic_block() for _ in range(3))
            builder.branch(test)
            builder.position_at_end(test)
            phis = [builder.phi(s.type) for s in (first, *sums)]
            for phi, s in zip(phis, (first, *sums)):
                phi.add_incoming(s, before)
            builder.cbranch(builder.icmp_signed("<", phis[0], last), inside, after)
            builder.position_at_end(inside)
            new = builder.add(phis[0], word(1)), *body(phis[0], phis[1:])
            for phi, s in zip(phis, new):
                phi.add_incoming(s, builder.block)
            builder.branch(test)
            builder.position_at_end(after)
            return phis[1:]

        numbers = [builder.add(at_, word(r)) for r in range(len(rows))]
        offsets = [item(row_, n) for n in numbers]

        def product(k, sums, moved):
            v = load(vectors_, builder.add(item(vector_, k), into_))
            place, new, old = item(factor_, k), [], iter(sums)
            for offset in moved:
                value = item(factors_, builder.add(place, offset))
                new += [add_product(next(old), value, v[c], cut) for c, cut in enumerate(cuts)]
            return new

        def of_part(s, sums):
            first, last, base = (item(part_, builder.add(builder.mul(s, word(3)), word(i))) for i in range(3))
            moved = [builder.add(offset, base) for offset in offsets]
            return loop(first, last, sums, lambda k, sums: product(k, sums, moved))

        sums = [v for n in numbers for v in load(source_, builder.add(item(begin_, n), from_))]
        sums = iter(loop(word(0), parts_, sums, of_part))
        for n in numbers:
            for piece in pieces(target_, builder.add(item(end_, n), to_)):
                builder.store(next(sums), piece).align = size
        return context.get_dummy_value()

    return types.void(*arguments), generate


# ---- convolutions --------------------------------------------------------------------------------------------------------------


@compiled
def pool(z, h, winner):
    """Pooling and ReLU of `z` `(n, channels, height, width)`: `h` is what they leave, `winner` its place, -1 for none."""
    images, channels, height, width = h.shape
    for i in range(images):
        for c in range(channels):
            for y in range(height):
                top, low = z[i, c, 2 * y], z[i, c, 2 * y + 1]
                for x in range(width):
                    place = 2 * y * z.shape[3] + 2 * x
                    best, at = top[2 * x], place
                    for k in range(1, 4):
                        value = (top if k < 2 else low)[2 * x + (k & 1)]
                        if value > best or value != value:  # as torch: the first of equals, and what is not a number
                            best, at = value, place + (k >> 1) * z.shape[3] + (k & 1)
                    h[i, c, y, x] = 0 if best <= 0 else best
                    winner[i, c, y, x] = at if best > 0 else -1


@compiled
def sort(winner, width, inputs, size, direct, first, slot, vector, factor):
    """The winners `(channels, cells)` of one image in the order of their places, which are `width` in a row.

    `first[q]` is the number of the first at place q and `slot[cell, channel]` that of each, times `size`, or -1; `vector` and
    `factor` say for each number where `gather` finds its slopes, among all cells if `direct`, and its kernel.
    """
    channels, cells = winner.shape
    first[:] = 0
    for c in range(channels):
        for p in range(cells):
            first[winner[c, p] + 2] += 1
    first[1] = 0  # those of no place
    for q in range(2, len(first)):
        first[q] += first[q - 1]
    for c in range(channels):
        for p in range(cells):
            q, number = winner[c, p], -1
            if q >= 0:
                number = first[q + 1]
                first[q + 1] = number + 1
                factor[number] = (9 * c - q % width) * inputs
                vector[number] = (c * cells + p if direct else number) * size
            slot[p, c] = number * size if number >= 0 else -1


@compiled
def back(rows, lanes, height, width, first, vectors, vector, factors, factor, slot, target, desk):
    """One convolution read backwards at an image: at each place of its input the slopes of the channels that are on there.

    They go to `slot[place, channel]` in `target`, those of a channel with -1 nowhere.
    """
    channels, many = slot.shape[1], int64(len(rows))
    zeros, begin = np.zeros(len(lanes), target.dtype), np.zeros(channels + many, np.int64)
    row, end = desk[: channels + many], desk[channels + many : 2 * (channels + many)]
    part = np.empty(9, np.int64)
    for y in range(height):
        for x in range(width):
            count, parts = 0, 0
            for c in range(channels):
                row[count], end[count] = c, slot[y * width + x, c]
                count += int64(end[count] >= 0)
            if count == 0:
                continue
            for k in range(1, many):  # the last group is filled up with what it has
                row[count + k - 1], end[count + k - 1] = row[count - 1], end[count - 1]
            for k in range(3):
                line = y + 1 - k
                if 0 <= line < height:
                    part[3 * parts] = first[line * width + max(x - 1, 0)]
                    part[3 * parts + 1] = first[line * width + min(x + 2, width)]
                    part[3 * parts + 2] = (3 * k + x + 1) * channels
                    parts += 1
            for r in range(0, count, many):
                lists = vectors, vector, factors, factor, row
                gather(rows, lanes, zeros, begin, target, end, *lists, r, part, parts, (0, 0, 0))  # ty: ignore


@compiled
def spread(found, size, slopes):
    """What `back` leaves for the input, place by place and channel by channel, to `slopes` `(outputs, channels, places)`."""
    outputs, channels, places = slopes.shape
    for o in range(outputs):
        for c in range(channels):
            for p in range(places):
                slopes[o, c, p] = found[(p * channels + c) * size + o]


# ---- one hidden layer ----------------------------------------------------------------------------------------------------------


@compiled
def tree(on, most):
    """Patterns `(n, neurons)` in an order in which each has a near one before it: order, that one's number or -1, and switches.

    -1 stands for the pattern in which all are off. Neurons `who[start[i] : start[i + 1]]` switch on the way to the i-th in the
    order. From -1 to any pattern it takes no more than so many switches: as Prim's tree, of the edges that keep to this.
    """
    (count, neurons), words = on.shape, (on.shape[1] + 63) // 64
    bits = np.zeros((words, count), np.uint64)
    for i in range(count):
        for k in range(neurons):
            bits[k >> 6, i] |= uint64(on[i, k]) << uint64(k & 63)
    name, near, way = np.arange(count), np.full(count, -1), np.zeros(count, np.int64)  # of those that are left
    for i in range(count):
        for w in range(words):
            way[i] += ones(bits[w, i])
    order, parent, depth = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count, np.int64)
    start, who, total = np.zeros(count + 1, np.int64), np.empty(16, np.int64), 0
    next_ = int64(np.argmin(way)) if count else 0
    for step in range(count):
        i, left = name[next_], count - step - 1
        order[step], parent[step] = i, near[next_]
        depth[i] = way[next_] + (depth[near[next_]] if near[next_] >= 0 else 0)
        if total + way[next_] > len(who):
            who = np.append(who, np.empty(len(who) + way[next_], np.int64))
        for k in range(neurons):
            if on[i, k] != (near[next_] >= 0 and on[near[next_], k]):
                who[total] = k if on[i, k] else -1 - k
                total += 1
        start[step + 1] = total
        name[next_], near[next_], way[next_] = name[left], near[left], way[left]
        chosen = bits[:, next_].copy()
        for w in range(words):
            bits[w, next_] = bits[w, left]
        next_ = 0
        for j in range(left):
            d = 0
            for w in range(words):
                d += ones(bits[w, j] ^ chosen[w])
            if d < way[j] and depth[i] + d <= most:
                way[j], near[j] = d, i
            if way[j] < way[next_]:
                next_ = j
    return order, parent, start, who[:total]


@compiled
def along(rows, lanes, order, parent, start, vector, factor, weights, places, factors, root, slopes, group):
    """Slopes `(n, out, pixels)` along a tree: those of the parent, or `root` `(out, pixels)`, and what the switches add.

    `weights` `(tiles, neurons * lanes)` are cut at the pixels `places`, and `group` tiles at a time go through all images.
    """
    (count, outputs, pixels), many = slopes.shape, int64(len(rows))
    flat, top, tiles, span = slopes.ravel(), root.ravel(), weights.ravel(), weights.shape[1]
    row, line, part = np.empty(outputs + many, np.int64), np.empty(outputs + many, np.int64), np.zeros(3, np.int64)
    for r in range(outputs + many):  # the last rows are filled up with what there is
        row[r] = min(r, outputs - 1)
        line[r] = row[r] * pixels
    for first in range(0, len(places), group):
        for step in range(count):
            part[0], part[1] = start[step], start[step + 1]
            above, to = parent[step] * outputs * pixels, order[step] * outputs * pixels
            for t in range(first, min(first + group, len(places))):
                for r in range(0, outputs, many):
                    lists = tiles, vector, factors, factor, row
                    if above >= 0:
                        moves = above + places[t], to + places[t], t * span
                        gather(rows, lanes, flat, line, flat, line, *lists, r, part, 1, moves)  # ty: ignore
                    else:
                        moves = places[t], to + places[t], t * span
                        gather(rows, lanes, top, line, flat, line, *lists, r, part, 1, moves)  # ty: ignore
