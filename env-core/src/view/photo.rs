//! Tiles that look like photographs, as one JPEG: side by side in rows of sixteen, without subsampled colours, so that no
//! tile colours the one beside it.

use alloc::vec;
use alloc::vec::Vec;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::raster::TILE;
use crate::contract::StateError;

/// Quality of the pictures, of 100: no block is visible at the size that pages show.
const QUALITY: u8 = 85;
/// A tile with more colours than this is no flat art, of its 256 pixels.
const MOST_COLOURS: usize = 64;
/// Tiles in a row of the JPEG.
const ROW: usize = 16;
/// Bytes of a tile.
pub(super) const TILE_BYTES: usize = TILE * TILE * 3;
/// Places of the set that counts colours: a power of two.
const PLACES: usize = 512;

/// Tells whether a tile looks like a photograph: it has many colours. `rgb` are its pixels.
pub(super) fn is_photo(rgb: &[u8]) -> bool {
    let (mut seen, mut count) = ([u32::MAX; PLACES], 0);
    for pixel in rgb.as_chunks::<3>().0 {
        let colour = u32::from_le_bytes([pixel[0], pixel[1], pixel[2], 0]);
        let mut place = (colour.wrapping_mul(0x9E37_79B1) >> 23) as usize % PLACES;
        while seen[place] != u32::MAX && seen[place] != colour {
            place = (place + 1) % PLACES;
        }
        if seen[place] == u32::MAX {
            seen[place] = colour;
            count += 1;
            if count > MOST_COLOURS {
                return true;
            }
        }
    }
    false
}

/// Width and height of the JPEG of this many tiles, pixels.
fn size_of(tiles: usize) -> [usize; 2] {
    [tiles.min(ROW) * TILE, tiles.div_ceil(ROW) * TILE]
}

/// The JPEG of whole tiles, their pixels one after the other; `None` if there are too many for one.
pub(super) fn encode(tiles: &[u8]) -> Option<Vec<u8>> {
    let [width, height] = size_of(tiles.len() / TILE_BYTES);
    let mut rgb = vec![0; width * height * 3];
    for (index, tile) in tiles.chunks_exact(TILE_BYTES).enumerate() {
        for (line, pixels) in tile.chunks_exact(TILE * 3).enumerate() {
            let row = index / ROW * TILE + line;
            let at = (row * width + index % ROW * TILE) * 3;
            rgb[at..at + TILE * 3].copy_from_slice(pixels);
        }
    }
    let (width, height) = (u16::try_from(width).ok()?, u16::try_from(height).ok()?);
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    encoder.encode(&rgb, width, height, ColorType::Rgb).ok()?;
    Some(jpeg)
}

/// The pixels of this many tiles from their JPEG, one tile after the other.
///
/// # Errors
/// [`StateError`] if the bytes are no JPEG of that size.
pub(super) fn decode(jpeg: &[u8], tiles: usize) -> Result<Vec<u8>, StateError> {
    let [width, height] = size_of(tiles);
    let options = DecoderOptions::default()
        .set_max_width(width)
        .set_max_height(height)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let rgb = decoder.decode().map_err(|_| StateError)?;
    if decoder.dimensions() != Some((width, height)) || rgb.len() != width * height * 3 {
        return Err(StateError);
    }
    let mut out = Vec::with_capacity(tiles * TILE_BYTES);
    for index in 0..tiles {
        for line in 0..TILE {
            let row = index / ROW * TILE + line;
            let at = (row * width + index % ROW * TILE) * 3;
            out.extend(&rgb[at..at + TILE * 3]);
        }
    }
    Ok(out)
}
