//! The arithmetic: `f32` in a fixed order, nothing fused, transcendental functions in pure Rust, so that every
//! machine finds the same bits.
//!
//! Every sum runs over the inputs in their order, one output beside the other: that vectorises without a change of
//! order. An input of 0 is left out, as most of an observation is.

use super::functions::{Conv, Map, Matrices, Pair, Pooling, Reduction};

/// `out[row, j] = bias[j] + Σ_i from[row, i] · weights[i, j]`.
pub(super) fn dense(from: &[f32], weights: &[f32], bias: &[f32], rows: usize, out: &mut [f32]) {
    let (inputs, outputs) = (from.len() / rows, out.len() / rows);
    for (from, out) in from.chunks_exact(inputs).zip(out.chunks_exact_mut(outputs)) {
        out.copy_from_slice(bias);
        for (value, weights) in from.iter().zip(weights.chunks_exact(outputs)) {
            if *value != 0.0 {
                add_scaled(out, *value, weights);
            }
        }
    }
}

fn add_scaled(out: &mut [f32], scale: f32, values: &[f32]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out += scale * value;
    }
}

/// The weights of a convolution in the order in which they are used: by group and tap, one filter beside the other.
pub(super) struct Filters(Vec<f32>);

impl Filters {
    /// Orders weights that come filter by filter.
    pub(super) fn new(shape: &Conv, weights: &[f32]) -> Self {
        let (taps, filters) = (shape.taps() as usize, shape.group_filters());
        let groups = weights.chunks_exact(taps * filters);
        let ordered = groups.take(shape.groups as usize).flat_map(|group| {
            let tap = move |tap| (0..filters).map(move |filter| group[filter * taps + tap]);
            (0..taps).flat_map(tap)
        });
        Self(ordered.collect())
    }
}

/// A two-dimensional convolution. Each value of `out` is the bias and then the products by channel, row and column of
/// the kernel; places outside are left out.
///
/// Goes through the input, and adds what each value makes to all places and filters that see it: a place sees the values
/// of a channel in the order of its taps.
pub(super) fn conv(shape: &Conv, from: &[f32], filters: &Filters, bias: &[f32], out: &mut [f32]) {
    let [height, width] = shape.size.map(|it| it as usize);
    let [rows, columns] = shape.out_size().map(|it| it as usize);
    let (area, plane) = (height * width, rows * columns);
    let (taps, count) = (shape.taps() as usize, shape.group_filters());
    let groups = out
        .chunks_exact_mut(count * plane)
        .zip(bias.chunks_exact(count))
        .zip(from.chunks_exact(shape.group_channels() * area))
        .zip(filters.0.chunks_exact(taps * count));
    let (down, across) = (seen_from(shape, 0), seen_from(shape, 1));
    let [tall, wide] = shape.kernel.map(|it| it as usize);
    for (((out, bias), from), weights) in groups {
        // By place and filter.
        let mut sums = bias.repeat(plane);
        let by_channel = weights.chunks_exact(tall * wide * count);
        for (input, weights) in from.chunks_exact(area).zip(by_channel) {
            for (place, value) in input.iter().enumerate().filter(|(_, it)| **it != 0.0) {
                let across = &across[place % width];
                for (ky, y) in &down[place / width] {
                    for (kx, x) in across {
                        let weights = &weights[(ky * wide + kx) * count..][..count];
                        let sums = &mut sums[(y * columns + x) * count..][..count];
                        add_scaled(sums, *value, weights);
                    }
                }
            }
        }
        for (filter, plane) in out.chunks_exact_mut(plane).enumerate() {
            let sums = sums.iter().skip(filter).step_by(count);
            for (out, sum) in plane.iter_mut().zip(sums) {
                *out = *sum;
            }
        }
    }
}

/// For each place of the input along an axis, the taps of the kernel that meet it, and the places of the output from
/// which they do.
fn seen_from(shape: &Conv, axis: usize) -> Vec<Vec<(usize, usize)>> {
    let (size, out_size) = (shape.size[axis] as usize, shape.out_size()[axis] as usize);
    let mut seen = vec![Vec::new(); size];
    for out in 0..out_size {
        for tap in 0..shape.kernel[axis] as usize {
            if let Some(place) = shape.reach(axis, out, tap) {
                seen[place].push((tap, out));
            }
        }
    }
    seen
}

/// A function of each value.
pub(super) fn map(map: Map, from: &[f32], out: &mut [f32]) {
    let each = |out: &mut [f32], of: &dyn Fn(f32) -> f32| {
        for (out, value) in out.iter_mut().zip(from) {
            *out = of(*value);
        }
    };
    match map {
        Map::Relu => each(out, &|x| if x > 0.0 { x } else { 0.0 }),
        Map::LeakyRelu(slope) => each(out, &|x| if x > 0.0 { x } else { slope * x }),
        Map::Elu(scale) => each(out, &|x| if x > 0.0 { x } else { scale * libm::expm1f(x) }),
        Map::Tanh => each(out, &libm::tanhf),
        Map::Sigmoid => each(out, &|x| 1.0 / (1.0 + libm::expf(-x))),
        Map::Exp => each(out, &libm::expf),
        Map::Clip(low, high) => each(out, &|x| clip(x, low, high)),
        Map::Scale(by, divisor) => each(out, &|x| x * by / divisor),
        Map::Abs => each(out, &libm::fabsf),
        Map::Neg => each(out, &|x| -x),
        Map::Sqrt => each(out, &libm::sqrtf),
        Map::Reciprocal => each(out, &|x| 1.0 / x),
        Map::Log => each(out, &libm::logf),
        Map::Sign => each(out, &|x| f32::from(x > 0.0) - f32::from(x < 0.0)),
        Map::Floor => each(out, &libm::floorf),
        Map::Ceil => each(out, &libm::ceilf),
        Map::Round => each(out, &libm::rintf),
        Map::Trunc => each(out, &libm::truncf),
        Map::Sin => each(out, &libm::sinf),
        Map::Cos => each(out, &libm::cosf),
        Map::Erf => each(out, &libm::erff),
        Map::Gelu => each(out, &gelu),
        Map::GeluTanh => each(out, &gelu_tanh),
        Map::Softplus => each(out, &softplus),
        Map::Softsign => each(out, &|x| x / (1.0 + libm::fabsf(x))),
        Map::HardSigmoid(by, more) => each(out, &|x| clip(by * x + more, 0.0, 1.0)),
        Map::Not => each(out, &|x| f32::from(x == 0.0)),
    }
}

fn clip(x: f32, low: f32, high: f32) -> f32 {
    match x {
        x if x < low => low,
        x if x > high => high,
        x => x,
    }
}

/// Source: Hendrycks and Gimpel 2016, the exact form.
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + libm::erff(x * core::f32::consts::FRAC_1_SQRT_2))
}

/// Source: Hendrycks and Gimpel 2016, the approximation.
fn gelu_tanh(x: f32) -> f32 {
    const ROOT: f32 = 0.797_884_6;
    0.5 * x * (1.0 + libm::tanhf(ROOT * (x + 0.044_715 * x * x * x)))
}

/// The form whose exponential never overflows.
fn softplus(x: f32) -> f32 {
    let rest = libm::log1pf(libm::expf(-libm::fabsf(x)));
    if x > 0.0 { x + rest } else { rest }
}

/// A function of two values, one from each side.
pub(super) fn pair(pair: Pair, left: &[f32], right: &[f32], out: &mut [f32]) {
    let each = |out: &mut [f32], of: &dyn Fn(f32, f32) -> f32| {
        let values = left.iter().zip(right);
        for (out, (left, right)) in out.iter_mut().zip(values) {
            *out = of(*left, *right);
        }
    };
    match pair {
        Pair::Add => each(out, &|a, b| a + b),
        Pair::Sub => each(out, &|a, b| a - b),
        Pair::Mul => each(out, &|a, b| a * b),
        Pair::Div => each(out, &|a, b| a / b),
        Pair::Pow => each(out, &power),
        Pair::Max => each(out, &greater),
        Pair::Min => each(out, &smaller),
        Pair::Equal => each(out, &|a, b| f32::from(a == b)),
        Pair::Less => each(out, &|a, b| f32::from(a < b)),
        Pair::LessOrEqual => each(out, &|a, b| f32::from(a <= b)),
        Pair::And => each(out, &|a, b| f32::from(a != 0.0 && b != 0.0)),
        Pair::Or => each(out, &|a, b| f32::from(a != 0.0 || b != 0.0)),
        Pair::Xor => each(out, &|a, b| f32::from((a != 0.0) != (b != 0.0))),
    }
}

/// Squares and roots are exact.
fn power(base: f32, exponent: f32) -> f32 {
    match exponent {
        2.0 => base * base,
        3.0 => base * base * base,
        0.5 => libm::sqrtf(base),
        _ => libm::powf(base, exponent),
    }
}

/// The greater of two; one that is no number wins.
fn greater(left: f32, right: f32) -> f32 {
    if left > right || left.is_nan() {
        left
    } else {
        right
    }
}

/// The smaller of two; one that is no number wins.
fn smaller(left: f32, right: f32) -> f32 {
    if left < right || left.is_nan() {
        left
    } else {
        right
    }
}

/// One of two values, by a third.
pub(super) fn select(condition: &[f32], left: &[f32], right: &[f32], out: &mut [f32]) {
    let values = condition.iter().zip(left.iter().zip(right));
    for (out, (condition, (left, right))) in out.iter_mut().zip(values) {
        *out = if *condition != 0.0 { *left } else { *right };
    }
}

/// One value for each row, from its values in their order.
pub(super) fn reduce(reduction: Reduction, from: &[f32], out: &mut [f32]) {
    let len = from.len() / out.len();
    for (out, row) in out.iter_mut().zip(from.chunks_exact(len)) {
        let values = row.iter().copied();
        *out = match reduction {
            Reduction::Sum => values.fold(0.0, |all, value| all + value),
            Reduction::Mean => values.fold(0.0, |all, value| all + value) / len as f32,
            Reduction::Max => values.fold(f32::NEG_INFINITY, greater),
            Reduction::Min => values.fold(f32::INFINITY, smaller),
            Reduction::Product => values.fold(1.0, |all, value| all * value),
            Reduction::ArgMax => super::choice::find_greatest(row) as f32,
        };
    }
}

/// `out[n, row, j] = Σ_i left[n, row, i] · right[n, i, j]`, from 0 and by `i`.
pub(super) fn product(shape: &Matrices, left: &[f32], right: &[f32], out: &mut [f32]) {
    let [rows, inner, columns] = [shape.rows, shape.inner, shape.columns].map(|it| it as usize);
    let zeros = vec![0.0; columns];
    let each = left.chunks_exact(rows * inner);
    let each = each.zip(right.chunks_exact(inner * columns));
    for ((left, right), out) in each.zip(out.chunks_exact_mut(rows * columns)) {
        dense(left, right, &zeros, rows, out);
    }
}

/// One value for each place of a window, from its values by row and column.
pub(super) fn pool(pooling: Pooling, shape: &Conv, from: &[f32], out: &mut [f32]) {
    let [height, width] = shape.size.map(|it| it as usize);
    let [rows, columns] = shape.out_size().map(|it| it as usize);
    let [tall, wide] = shape.kernel.map(|it| it as usize);
    let planes = from.chunks_exact(height * width);
    for (plane, out) in planes.zip(out.chunks_exact_mut(rows * columns)) {
        for (place, out) in out.iter_mut().enumerate() {
            let (y, x) = (place / columns, place % columns);
            let taps = (0..tall).filter_map(|ky| shape.reach(0, y, ky));
            let taps = taps.flat_map(|row| {
                let across = (0..wide).filter_map(move |kx| shape.reach(1, x, kx));
                across.map(move |column| plane[row * width + column])
            });
            *out = match pooling {
                Pooling::Max => taps.fold(f32::NEG_INFINITY, greater),
                Pooling::Mean | Pooling::MeanPadded => {
                    let (sum, count) = taps.fold((0.0, 0_u32), |(sum, n), it| (sum + it, n + 1));
                    match pooling {
                        Pooling::Mean => sum / count as f32,
                        _ => sum / (tall * wide) as f32,
                    }
                }
            };
        }
    }
}
