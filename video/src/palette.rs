//! Pixels as a frame of a GIF, which has 256 colours at most.
//!
//! Art has few colours on most of its pixels, and many at its soft edges: the most frequent colours stay as they are, so
//! that a later frame, which repaints a part, meets them exactly.

use std::collections::BTreeMap;

use gif::Frame;

/// Colours of a frame, beside the one that is transparent.
const COLORS: usize = 255;
/// The share of pixels that the most frequent colours must cover, out of 100; below it, it is a photograph.
const ART: usize = 80;
/// How thorough the quantiser of photographs is, from 1 (best) to 30 (fastest).
const SPEED: i32 = 10;

/// A colour, or `None` for a pixel that stays as it was.
pub(crate) type Pixel = Option<[u8; 3]>;

/// Makes a frame of the pixels of a rectangle, `[row, column]`, row-major.
pub(crate) fn make_frame(size: [u16; 2], pixels: &[Pixel]) -> Frame<'static> {
    let mut counts: BTreeMap<[u8; 3], usize> = BTreeMap::new();
    for color in pixels.iter().flatten() {
        *counts.entry(*color).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let mut by_count: Vec<([u8; 3], usize)> = counts.into_iter().collect();
    // The sort is stable, so equal counts keep the order of their colours, and the file is the same every time.
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (own, rest) = by_count.split_at(by_count.len().min(COLORS));
    let covered: usize = own.iter().map(|(_, count)| count).sum();
    if covered * 100 < all * ART {
        return quantised(size, pixels);
    }
    let palette: Vec<[u8; 3]> = own.iter().map(|(color, _)| *color).collect();
    let mut index_of: BTreeMap<[u8; 3], u8> = (palette.iter().copied()).zip(0..).collect();
    index_of.extend(
        rest.iter()
            .map(|(color, _)| (*color, nearest(&palette, *color))),
    );
    let transparent = palette.len() as u8;
    let indexes: Vec<u8> = pixels
        .iter()
        .map(|pixel| pixel.map_or(transparent, |color| index_of[&color]))
        .collect();
    let mut flat: Vec<u8> = palette.concat();
    flat.extend([0; 3]);
    let [width, height] = size;
    Frame::from_palette_pixels(width, height, indexes, flat, Some(transparent))
}

/// A frame with the colours that a quantiser chooses.
fn quantised([width, height]: [u16; 2], pixels: &[Pixel]) -> Frame<'static> {
    let rgba = pixels.iter().flat_map(|pixel| match pixel {
        Some([r, g, b]) => [*r, *g, *b, u8::MAX],
        None => [0; 4],
    });
    let mut rgba: Vec<u8> = rgba.collect();
    Frame::from_rgba_speed(width, height, &mut rgba, SPEED)
}

/// The index of the nearest colour.
fn nearest(palette: &[[u8; 3]], color: [u8; 3]) -> u8 {
    let distance = |other: &[u8; 3]| -> u32 {
        let parts = other.iter().zip(color);
        parts
            .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
            .sum()
    };
    let indexes = (0..=u8::MAX).zip(palette);
    let nearest = indexes.min_by_key(|(_, other)| distance(other));
    nearest.map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colours that a frame shows.
    fn shown(frame: &Frame<'_>) -> Vec<Pixel> {
        let palette = frame.palette.as_ref().unwrap();
        let color = |index: &u8| match frame.transparent == Some(*index) {
            true => None,
            false => Some([0, 1, 2].map(|part| palette[usize::from(*index) * 3 + part])),
        };
        frame.buffer.iter().map(color).collect()
    }

    #[test]
    fn up_to_255_colours_and_what_stays_are_exact() {
        let colors = (0..=254).map(|part| Some([part, 255 - part, 7]));
        let pixels: Vec<Pixel> = colors.chain([None]).collect();
        assert_eq!(shown(&make_frame([64, 4], &pixels)), pixels);
    }

    #[test]
    fn of_more_colours_the_frequent_ones_are_exact_and_others_near() {
        let rare = (0..=254).map(|part| Some([200, part, 9]));
        let frequent = std::iter::repeat_n(Some([1, 2, 3]), 2_000);
        let pixels: Vec<Pixel> = frequent.chain(rare).collect();
        let found = shown(&make_frame([2_255, 1], &pixels));
        assert_eq!(found[..2_000], pixels[..2_000]);
        for (found, pixel) in found.iter().zip(&pixels).skip(2_000) {
            let (found, pixel) = (found.unwrap(), pixel.unwrap());
            assert!(found[1].abs_diff(pixel[1]) <= 1, "{found:?} for {pixel:?}");
        }
    }

    #[test]
    fn a_photograph_keeps_its_course_of_colours() {
        let mut pixels = Vec::new();
        for row in 0..=127_u8 {
            pixels.extend((0..=127_u8).map(|column| Some([row * 2, column * 2, 128])));
        }
        let found = shown(&make_frame([128, 128], &pixels));
        let far = found.iter().zip(&pixels).map(|(found, pixel)| {
            let (found, pixel) = (found.unwrap(), pixel.unwrap());
            u64::from(found[0].abs_diff(pixel[0])) + u64::from(found[1].abs_diff(pixel[1]))
        });
        let mean = far.sum::<u64>() as f64 / pixels.len() as f64;
        assert!(mean < 20.0, "{mean}");
    }
}
