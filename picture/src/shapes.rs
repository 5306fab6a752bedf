//! Outlines of the shapes of a draw list.

use std::f32::consts::{FRAC_PI_2, TAU};

use resvg::tiny_skia::{Path, PathBuilder, Rect};

/// A place on the canvas: left, top, width, height, in pixels.
pub(crate) type Place = [f32; 4];

/// Thickness of a ring of progress, of the shorter side of its box.
pub(crate) const RING: f32 = 0.16;

/// A rectangle with rounded corners.
pub(crate) fn rounded_path([x, y, w, h]: Place, radius: f32) -> Option<Path> {
    let r = radius.min(w / 2.0).min(h / 2.0).max(0.0);
    let mut path = PathBuilder::new();
    let corners = [
        (x + w - r, y + r, 3.0),
        (x + w - r, y + h - r, 0.0),
        (x + r, y + h - r, 1.0),
        (x + r, y + r, 2.0),
    ];
    for (cx, cy, quarter) in corners {
        arc(&mut path, [cx, cy], r, quarter * FRAC_PI_2, FRAC_PI_2);
    }
    path.close();
    path.finish()
}

/// An ellipse that fills a place.
pub(crate) fn ellipse_path([x, y, w, h]: Place) -> Option<Path> {
    PathBuilder::from_oval(Rect::from_xywh(x, y, w, h)?)
}

/// The middle line of a ring of progress, and its thickness.
pub(crate) fn ring_path([x, y, w, h]: Place, part: f32) -> Option<(Path, f32)> {
    let thickness = w.min(h) * RING;
    let radius = (w.min(h) - thickness) / 2.0;
    let part = self::part(part);
    if part <= 0.0 || radius <= 0.0 {
        return None;
    }
    let mut path = PathBuilder::new();
    arc(
        &mut path,
        [x + w / 2.0, y + h / 2.0],
        radius,
        -FRAC_PI_2,
        TAU * part,
    );
    Some((path.finish()?, thickness))
}

/// A part of a whole; a value that is not a number is 0.
pub(crate) fn part(value: f32) -> f32 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 1.0)
    }
}

/// An arc that begins at an angle and turns clockwise, as cubic curves of at most a quarter each.
fn arc(path: &mut PathBuilder, [cx, cy]: [f32; 2], r: f32, start: f32, sweep: f32) {
    let at = |angle: f32| [cx + r * angle.cos(), cy + r * angle.sin()];
    let [x, y] = at(start);
    if path.is_empty() {
        path.move_to(x, y);
    } else {
        path.line_to(x, y);
    }
    let pieces = (sweep / FRAC_PI_2).ceil().max(1.0);
    let step = sweep / pieces;
    // Source: the usual cubic approximation of an arc, 4/3 tan(angle / 4).
    let reach = 4.0 / 3.0 * (step / 4.0).tan();
    for piece in 0..pieces as u32 {
        let (from, to) = (
            start + step * piece as f32,
            start + step * (piece + 1) as f32,
        );
        let ([x0, y0], [x1, y1]) = (at(from), at(to));
        path.cubic_to(
            x0 - reach * (y0 - cy),
            y0 + reach * (x0 - cx),
            x1 + reach * (y1 - cy),
            y1 - reach * (x1 - cx),
            x1,
            y1,
        );
    }
}
