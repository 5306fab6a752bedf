//! The arithmetic: `f32` in a fixed order, nothing fused, transcendental functions in pure Rust, so that every
//! machine finds the same bits.
//!
//! Every sum runs over the inputs in their order, one output beside the other: that vectorises without a change of
//! order. An input of 0 is left out, as most of an observation is.

use super::program::{Conv, Map, Pair};

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

/// A two-dimensional convolution. Each value of `out` is the bias and then the products by channel, row and column of
/// the kernel; what lies outside is left out.
pub(super) fn conv(shape: &Conv, from: &[f32], weights: &[f32], bias: &[f32], out: &mut [f32]) {
    let [height, width] = shape.size.map(|it| it as usize);
    let [rows, columns] = shape.out_size().map(|it| it as usize);
    let (area, taps) = (height * width, shape.taps() as usize);
    let (channels, filters) = (shape.group_channels(), shape.group_filters());
    let planes = out.chunks_exact_mut(rows * columns).zip(bias);
    for ((filter, (plane, bias)), kernel) in planes.enumerate().zip(weights.chunks_exact(taps)) {
        plane.fill(*bias);
        let first = filter / filters * channels;
        let inputs = from[first * area..].chunks_exact(area);
        let by_channel = kernel.chunks_exact(taps / channels);
        for (input, kernel) in inputs.zip(by_channel) {
            for (tap, weight) in kernel.iter().enumerate() {
                let (ky, kx) = (
                    tap / shape.kernel[1] as usize,
                    tap % shape.kernel[1] as usize,
                );
                for (y, out) in plane.chunks_exact_mut(columns).enumerate() {
                    if let Some(row) = shape.reach(0, y, ky) {
                        let input = &input[row * width..][..width];
                        add_row(shape, kx, *weight, input, out);
                    }
                }
            }
        }
    }
}

/// Adds what one column of the kernel makes of a row of the input.
fn add_row(shape: &Conv, kx: usize, weight: f32, input: &[f32], out: &mut [f32]) {
    for (x, out) in out.iter_mut().enumerate() {
        if let Some(column) = shape.reach(1, x, kx) {
            *out += weight * input[column];
        }
    }
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
        Map::Clip(low, high) => each(out, &|x| match x {
            x if x < low => low,
            x if x > high => high,
            x => x,
        }),
    }
}

/// A function of two values, one from each side.
pub(super) fn pair(pair: Pair, left: &[f32], right: &[f32], out: &mut [f32]) {
    let values = left.iter().zip(right);
    for (out, (left, right)) in out.iter_mut().zip(values) {
        *out = match pair {
            Pair::Add => left + right,
            Pair::Sub => left - right,
            Pair::Mul => left * right,
            Pair::Div => left / right,
        };
    }
}
