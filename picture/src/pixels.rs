//! Draw lists to pixels, by the rules of the canvas in `client-wasm/src/episode/view.rs`.

use std::collections::HashMap;

use env_core::draw::{DrawItem, DrawList, Shape};
use resvg::tiny_skia::{
    Color, ColorU8, FillRule, Paint, Path, Pixmap, PixmapPaint, PremultipliedColorU8, Stroke,
    Transform,
};

use crate::shapes::{self, Place};
use crate::sprite::Sprite;
use crate::{MAX_SIDE, PictureError, text};

/// Pixels of rasters kept; more than a world shows at a few sizes.
const KEPT: usize = 1 << 24;
/// A sprite of more pixels is drawn where it is needed, and only there.
const LARGE: f32 = 1_048_576.0;
/// An item with a place or a side beyond this, in pixels, is not drawn.
const FARTHEST: f32 = 4.0 * MAX_SIDE as f32;
/// The colour in place of a sprite that does not exist.
const MISSING: u32 = 0x9999_9955;

/// An opaque picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgb {
    /// Pixels a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// `[row, column, channel]`, row-major: red, green, blue. What is transparent shows white.
    pub pixels: Vec<u8>,
}

/// The last picture, and sprites as pixels by index and size.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    pixmap: Option<Pixmap>,
    rasters: HashMap<(u16, u32, u32), Pixmap>,
    kept: usize,
}

impl Canvas {
    /// Draws a list.
    pub(crate) fn draw(
        &mut self,
        sprites: &[Sprite],
        list: &DrawList,
        scale: u32,
    ) -> Result<(), PictureError> {
        let mut pixmap = self.blank(list, scale)?;
        pixmap.fill(color(list.background));
        for item in &list.items {
            let place = [item.x, item.y, item.w, item.h].map(|value| value * scale as f32);
            // A module may say anything; items far outside the picture could only cost time.
            if place.iter().all(|value| value.abs() <= FARTHEST) {
                self.item(sprites, item, place, &mut pixmap);
            }
        }
        self.pixmap = Some(pixmap);
        Ok(())
    }

    /// The picture that was drawn, over white.
    pub(crate) fn rgb(&self) -> Rgb {
        let pixmap = self.pixmap.as_ref().expect("drawn before");
        let mut pixels = Vec::with_capacity(pixmap.pixels().len() * 3);
        for pixel in pixmap.pixels() {
            let white = 255 - pixel.alpha();
            pixels.extend([pixel.red(), pixel.green(), pixel.blue()].map(|part| part + white));
        }
        Rgb {
            width: pixmap.width(),
            height: pixmap.height(),
            pixels,
        }
    }

    /// The picture that was drawn, as a file.
    pub(crate) fn png(&self) -> Vec<u8> {
        let pixmap = self.pixmap.as_ref().expect("drawn before");
        pixmap.encode_png().expect("memory takes every byte")
    }

    /// The last pixmap if it has the size, or a new one.
    fn blank(&mut self, list: &DrawList, scale: u32) -> Result<Pixmap, PictureError> {
        let [width, height] = [list.width, list.height].map(|cells| {
            let pixels = (cells * scale as f32).round();
            (1.0..=MAX_SIDE as f32)
                .contains(&pixels)
                .then_some(pixels as u32)
        });
        let size = width.zip(height);
        if let Some(last) = self.pixmap.take()
            && Some((last.width(), last.height())) == size
        {
            return Ok(last);
        }
        let pixmap = size.and_then(|(width, height)| Pixmap::new(width, height));
        pixmap.ok_or(PictureError::Size {
            width: list.width,
            height: list.height,
            scale,
        })
    }

    fn item(&mut self, sprites: &[Sprite], item: &DrawItem, place: Place, pixmap: &mut Pixmap) {
        let [_, _, w, h] = place;
        match &item.shape {
            Shape::Sprite(index) => match sprites.get(usize::from(*index)) {
                Some(sprite) => self.sprite(*index, sprite, place, pixmap),
                None => fill(pixmap, shapes::rounded_path(place, w / 6.0), MISSING),
            },
            Shape::Rect { radius, color } => {
                let radius = if item.w > 0.0 {
                    radius * w / item.w
                } else {
                    0.0
                };
                fill(pixmap, shapes::rounded_path(place, radius), *color);
            }
            Shape::Ellipse { color } => fill(pixmap, shapes::ellipse_path(place), *color),
            Shape::Progress { part, color } => {
                if let Some((path, width)) = shapes::ring_path(place, *part) {
                    let stroke = Stroke {
                        width,
                        ..Stroke::default()
                    };
                    let paint = paint(*color);
                    pixmap.stroke_path(&path, &paint, &stroke, Transform::identity(), None);
                }
            }
            Shape::Text { text, color } if h > 0.0 => {
                fill(pixmap, text::outline_text(text, place), *color);
            }
            Shape::Text { .. } => {}
            Shape::Pixels { width, height, rgb } => {
                draw_pixels(pixmap, place, [*width, *height], rgb)
            }
        }
    }

    /// Sprites lie on whole pixels, and have whole pixels for their size.
    fn sprite(&mut self, index: u16, sprite: &Sprite, place: Place, pixmap: &mut Pixmap) {
        let [x, y, w, h] = place.map(f32::round);
        if w < 1.0 || h < 1.0 {
            return;
        }
        if w * h > LARGE {
            resvg::render(
                &sprite.tree,
                stretch(sprite, [x, y, w, h]),
                &mut pixmap.as_mut(),
            );
            return;
        }
        let (width, height) = (w as u32, h as u32);
        if self.kept > KEPT {
            self.rasters.clear();
            self.kept = 0;
        }
        let raster = self
            .rasters
            .entry((index, width, height))
            .or_insert_with(|| {
                self.kept += (width * height) as usize;
                let mut raster = Pixmap::new(width, height).expect("neither empty nor large");
                let place = stretch(sprite, [0.0, 0.0, w, h]);
                resvg::render(&sprite.tree, place, &mut raster.as_mut());
                raster
            });
        blit(pixmap, raster, x as i32, y as i32);
    }
}

/// Brings a sprite into a place, whatever its proportions.
fn stretch(sprite: &Sprite, [x, y, w, h]: Place) -> Transform {
    let size = sprite.tree.size();
    Transform::from_row(w / size.width(), 0.0, 0.0, h / size.height(), x, y)
}

/// Puts a raster over a picture, as far as it lies within.
fn blit(pixmap: &mut Pixmap, raster: &Pixmap, x: i32, y: i32) {
    let (columns, left) = overlap(x, raster.width(), pixmap.width());
    let (rows, top) = overlap(y, raster.height(), pixmap.height());
    let (stride, wide) = (pixmap.width() as usize, raster.width() as usize);
    for (row, line) in rows.zip(top..) {
        let over = &raster.pixels()[row * wide..][columns.clone()];
        let under = &mut pixmap.pixels_mut()[line * stride + left..][..over.len()];
        for (under, over) in under.iter_mut().zip(over) {
            match over.alpha() {
                0 => {}
                255 => *under = *over,
                _ => *under = mix(*under, *over),
            }
        }
    }
}

/// Which part of a length lies within another when it begins at `at`, and where it begins there.
fn overlap(at: i32, length: u32, within: u32) -> (std::ops::Range<usize>, usize) {
    let (at, length, within) = (i64::from(at), i64::from(length), i64::from(within));
    let first = (-at).clamp(0, length);
    let end = (within - at).clamp(first, length);
    (
        first as usize..end as usize,
        (at + first).clamp(0, within) as usize,
    )
}

/// One pixel over another; both have their colours multiplied by their alpha.
fn mix(under: PremultipliedColorU8, over: PremultipliedColorU8) -> PremultipliedColorU8 {
    let rest = 255 - u32::from(over.alpha());
    let part =
        |over: u8, under: u8| over.saturating_add(((u32::from(under) * rest + 127) / 255) as u8);
    let alpha = part(over.alpha(), under.alpha());
    PremultipliedColorU8::from_rgba(
        part(over.red(), under.red()).min(alpha),
        part(over.green(), under.green()).min(alpha),
        part(over.blue(), under.blue()).min(alpha),
        alpha,
    )
    .expect("no colour is above its alpha")
}

fn color(rgba: u32) -> Color {
    let [r, g, b, a] = rgba.to_be_bytes();
    Color::from_rgba8(r, g, b, a)
}

fn paint(rgba: u32) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(color(rgba));
    paint
}

/// Stretches pixels over a box, with sharp edges.
fn draw_pixels(pixmap: &mut Pixmap, [x, y, w, h]: Place, [columns, rows]: [u16; 2], rgb: &[u8]) {
    let (columns, rows) = (u32::from(columns), u32::from(rows));
    let is_whole = rgb.len() == columns as usize * rows as usize * 3;
    let Some(mut raster) = Pixmap::new(columns, rows).filter(|_| is_whole && w > 0.0 && h > 0.0)
    else {
        return;
    };
    for (pixel, of) in raster.pixels_mut().iter_mut().zip(rgb.chunks_exact(3)) {
        *pixel = ColorU8::from_rgba(of[0], of[1], of[2], 255).premultiply();
    }
    let transform = Transform::from_translate(x, y).pre_scale(w / columns as f32, h / rows as f32);
    let paint = PixmapPaint::default();
    pixmap.draw_pixmap(0, 0, raster.as_ref(), &paint, transform, None);
}

fn fill(pixmap: &mut Pixmap, path: Option<Path>, color: u32) {
    if let Some(path) = path {
        let (rule, here) = (FillRule::Winding, Transform::identity());
        pixmap.fill_path(&path, &paint(color), rule, here, None);
    }
}
