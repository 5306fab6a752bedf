//! Pixels of a picture: the changed ones, and their encoding.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::photo;
use crate::contract::StateError;
use crate::draw::{DrawList, Shape};

/// Edge of a tile, pixels.
pub(super) const TILE: usize = 16;
/// The most pixels of a raster.
const MAX_PIXELS: usize = 1 << 22;
/// The most bytes of pixels in one view; tiles for which there is no room follow with the next views.
pub(super) const MAX_BYTES: usize = 192 << 10;
/// Level of compression: the fastest that still finds what repeats.
const LEVEL: u8 = 1;
/// As many photographic tiles make a JPEG, whose tables alone have 600 bytes.
const FEWEST_PHOTOS: usize = 4;

/// The changed tiles of a raster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Patch {
    /// The raster, by its number in the picture.
    pub(super) raster: u16,
    /// Indices of the tiles that travel without loss, row by row, each as its distance from the one before.
    pub(super) tiles: Vec<u16>,
    /// The pixels of all tiles, row by row, deflated.
    pub(super) deflated: Vec<u8>,
    /// Indices of the tiles that look like photographs, in the same form. They are whole: none is cut by an edge.
    pub(super) photos: Vec<u16>,
    /// Their JPEG.
    pub(super) jpeg: Vec<u8>,
}

/// Pixels of a picture: red, green and blue, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rgb: Vec<u8>,
}

impl Raster {
    pub(super) fn blank(width: u16, height: u16) -> Option<Self> {
        let (width, height) = (usize::from(width), usize::from(height));
        (width * height <= MAX_PIXELS).then(|| Self {
            width,
            height,
            rgb: vec![0; width * height * 3],
        })
    }

    fn columns(&self) -> usize {
        self.width.div_ceil(TILE)
    }

    fn tiles(&self) -> usize {
        self.columns() * self.height.div_ceil(TILE)
    }

    /// The bytes of each row of a tile.
    fn spans(&self, tile: usize) -> impl Iterator<Item = core::ops::Range<usize>> + use<> {
        let (x, y) = (tile % self.columns() * TILE, tile / self.columns() * TILE);
        let (width, right) = (self.width, (x + TILE).min(self.width));
        (y..(y + TILE).min(self.height))
            .map(move |row| (row * width + x) * 3..(row * width + right) * 3)
    }

    fn pixels_of(&self, tile: usize) -> Vec<u8> {
        self.spans(tile)
            .flat_map(|span| &self.rgb[span])
            .copied()
            .collect()
    }

    /// Returns the same picture at about this size; each pixel is the mean of those under it. The picture is not
    /// changed unless it is at least half as large again in both directions.
    fn shrink_to(self, width: usize, height: usize) -> Self {
        let is_large = |edge: usize, wanted: usize| wanted > 0 && 2 * edge >= 3 * wanted;
        if !is_large(self.width, width) || !is_large(self.height, height) {
            return self;
        }
        let mut rgb = Vec::with_capacity(width * height * 3);
        for row in 0..height {
            let rows = row * self.height / height..(row + 1) * self.height / height;
            for column in 0..width {
                let columns = column * self.width / width..(column + 1) * self.width / width;
                let mut sums = [0_u32; 3];
                for y in rows.clone() {
                    let span =
                        (y * self.width + columns.start) * 3..(y * self.width + columns.end) * 3;
                    for pixel in self.rgb[span].as_chunks::<3>().0 {
                        for (sum, part) in sums.iter_mut().zip(pixel) {
                            *sum += u32::from(*part);
                        }
                    }
                }
                let count = (rows.len() * columns.len()) as u32;
                rgb.extend(sums.map(|sum| ((sum + count / 2) / count) as u8));
            }
        }
        Self { width, height, rgb }
    }
}

/// The edge of a raster on the page, in whole tiles of its pixels: `cells` of the picture's `of`, which has `pixels`.
fn edge_on_page(cells: f32, of: f32, pixels: u16) -> usize {
    let edge = f32::from(pixels) * (cells / of);
    match edge.is_finite() && edge > 0.0 {
        true => (edge as usize).div_ceil(TILE) * TILE,
        false => 0,
    }
}

/// Takes the pixels out of a picture, in the order of its items, at most as fine as a page shows them in `size` pixels.
/// An item that holds no valid raster, or one that is too large, becomes empty.
pub(super) fn take_rasters(picture: &mut DrawList, size: [u16; 2]) -> Vec<Raster> {
    let of = [picture.width, picture.height];
    let mut rasters = Vec::new();
    for item in &mut picture.items {
        let (w, h) = (item.w, item.h);
        let Shape::Pixels { width, height, rgb } = &mut item.shape else {
            continue;
        };
        let rgb = core::mem::take(rgb);
        let pixels = usize::from(*width) * usize::from(*height);
        if pixels > MAX_PIXELS || rgb.len() != pixels * 3 {
            (*width, *height) = (0, 0);
            rasters.push(Raster::default());
            continue;
        }
        let raster = Raster {
            width: usize::from(*width),
            height: usize::from(*height),
            rgb,
        };
        // A picture keeps its shape, so the page leaves space free in the other direction.
        let (across, down) = (f32::from(size[0]) / of[0], f32::from(size[1]) / of[1]);
        let size = match across < down {
            true => [size[0], (of[1] * across) as u16],
            false => [(of[0] * down) as u16, size[1]],
        };
        let raster = raster.shrink_to(
            edge_on_page(w, of[0], size[0]),
            edge_on_page(h, of[1], size[1]),
        );
        // It only shrinks, so its size fits into the same type.
        (*width, *height) = (raster.width as u16, raster.height as u16);
        rasters.push(raster);
    }
    rasters
}

/// Adds a tile to a list of indices, each as its distance from the one before.
fn push_tile(tiles: &mut Vec<u16>, last: &mut usize, tile: usize) {
    tiles.push((tile - *last) as u16);
    *last = tile;
}

/// Finds the tiles that differ from the shown ones, as many as fit into the room, which they use up; `None` if there
/// are none.
pub(super) fn find_patch(
    index: u16,
    shown: &mut Raster,
    now: &Raster,
    room: &mut usize,
) -> Option<Patch> {
    if (shown.width, shown.height) != (now.width, now.height) {
        let (width, height) = (now.width, now.height);
        let rgb = vec![0; now.rgb.len()];
        *shown = Raster { width, height, rgb };
    }
    let (mut changed, mut photos) = (Vec::new(), Vec::new());
    for tile in 0..now.tiles() {
        let is_same = |span: core::ops::Range<usize>| shown.rgb[span.clone()] == now.rgb[span];
        if *room < photo::TILE_BYTES || now.spans(tile).all(is_same) {
            continue;
        }
        for span in now.spans(tile) {
            *room -= span.len();
            shown.rgb[span.clone()].copy_from_slice(&now.rgb[span]);
        }
        let pixels = now.pixels_of(tile);
        match pixels.len() == photo::TILE_BYTES && photo::is_photo(&pixels) {
            true => photos.push((tile, pixels)),
            false => changed.push((tile, pixels)),
        }
    }
    let bytes = |tiles: &[(usize, Vec<u8>)]| -> Vec<u8> {
        tiles
            .iter()
            .flat_map(|(_, pixels)| pixels)
            .copied()
            .collect()
    };
    let mut patch = Patch {
        raster: index,
        ..Patch::default()
    };
    let jpeg = (photos.len() >= FEWEST_PHOTOS)
        .then(|| photo::encode(&bytes(&photos)))
        .flatten();
    match jpeg {
        Some(jpeg) => patch.jpeg = jpeg,
        None => {
            changed.append(&mut photos);
            changed.sort_by_key(|(tile, _)| *tile);
        }
    }
    for (tiles, indices) in [(&changed, &mut patch.tiles), (&photos, &mut patch.photos)] {
        let mut last = 0;
        for (tile, _) in tiles {
            push_tile(indices, &mut last, *tile);
        }
    }
    if changed.is_empty() && photos.is_empty() {
        return None;
    }
    if !changed.is_empty() {
        patch.deflated = miniz_oxide::deflate::compress_to_vec(&bytes(&changed), LEVEL);
    }
    Some(patch)
}

/// The rasters of a picture, with the pixels that they had before where they are as large as before.
pub(super) fn rasters_of(picture: &DrawList, before: &[Raster]) -> Result<Vec<Raster>, StateError> {
    let sizes = picture.items.iter().filter_map(|item| match item.shape {
        Shape::Pixels { width, height, .. } => Some((width, height)),
        _ => None,
    });
    let mut rasters = Vec::new();
    for (index, (width, height)) in sizes.enumerate() {
        let blank = Raster::blank(width, height).ok_or(StateError)?;
        let same = before
            .get(index)
            .filter(|one| (one.width, one.height) == (blank.width, blank.height));
        rasters.push(same.cloned().unwrap_or(blank));
    }
    Ok(rasters)
}

/// Puts the tiles of a patch into their raster.
///
/// # Errors
/// [`StateError`] if the patch does not belong to these rasters.
pub(super) fn apply(patch: &Patch, rasters: &mut [Raster]) -> Result<(), StateError> {
    let raster = rasters
        .get_mut(usize::from(patch.raster))
        .ok_or(StateError)?;
    if patch.tiles.len().max(patch.photos.len()) > raster.tiles() {
        return Err(StateError);
    }
    if !patch.tiles.is_empty() {
        let most = patch.tiles.len() * photo::TILE_BYTES;
        let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(&patch.deflated, most);
        place(&patch.tiles, &bytes.map_err(|_| StateError)?, raster)?;
    }
    if !patch.photos.is_empty() {
        let bytes = photo::decode(&patch.jpeg, patch.photos.len())?;
        place(&patch.photos, &bytes, raster)?;
    }
    Ok(())
}

/// Puts the pixels of tiles into a raster.
fn place(tiles: &[u16], bytes: &[u8], raster: &mut Raster) -> Result<(), StateError> {
    let (mut rest, mut tile) = (bytes, 0);
    for step in tiles {
        tile += usize::from(*step);
        if tile >= raster.tiles() {
            return Err(StateError);
        }
        for span in raster.spans(tile) {
            let (row, more) = rest.split_at_checked(span.len()).ok_or(StateError)?;
            raster.rgb[span].copy_from_slice(row);
            rest = more;
        }
    }
    rest.is_empty().then_some(()).ok_or(StateError)
}
