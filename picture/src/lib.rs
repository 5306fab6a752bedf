//! Draw lists to SVG, PNG and pixels, natively; equal, to the eye, to the canvas of the browser.
//!
//! A [`Renderer`] reads the sprites of an environment once and keeps their pixels by size, so that a frame costs
//! little more than copying. Sprites may come from a module of someone else: they are shapes alone, reach no file
//! and no network, and are bounded in size; refused parts are named.
//!
//! This crate must not know of environments, worlds or time: it takes a list and returns a picture.

#![forbid(unsafe_code)]

mod pixels;
mod shapes;
mod sprite;
mod svg;
mod text;

use env_core::draw::DrawList;

pub use pixels::Rgb;

use pixels::Canvas;
use sprite::Sprite;

/// The longest side of a picture, pixels.
pub const MAX_SIDE: u32 = 8_192;
/// The most bytes of a sprite's document.
pub const MAX_SPRITE_BYTES: usize = 64 * 1024;

/// The reason why there is no picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PictureError {
    /// A sprite that cannot be drawn.
    #[error("sprite `{name}`: {reason}")]
    Sprite {
        /// Its name.
        name: String,
        /// The fault and how to fix it.
        reason: String,
    },
    /// A picture with no pixels, or too many.
    #[error(
        "a world of {width} by {height} cells at {scale} pixels a cell is no picture: \
         each side must have 1 to {MAX_SIDE} pixels"
    )]
    Size {
        /// Width of the world, cells.
        width: f32,
        /// Height of the world, cells.
        height: f32,
        /// Pixels a cell.
        scale: u32,
    },
}

/// Draws the pictures of one environment.
#[derive(Debug)]
pub struct Renderer {
    sprites: Vec<Sprite>,
    canvas: Canvas,
}

impl Renderer {
    /// Reads sprites, each a name and an SVG document, in the order of the environment.
    ///
    /// # Errors
    /// [`PictureError::Sprite`] for a document that is malformed, too large, or has more than shapes.
    pub fn new<N: AsRef<str>, S: AsRef<str>>(
        sprites: impl IntoIterator<Item = (N, S)>,
    ) -> Result<Self, PictureError> {
        let sprites = sprites
            .into_iter()
            .map(|(name, svg)| Sprite::read(name.as_ref(), svg.as_ref()))
            .collect::<Result<_, _>>()?;
        let canvas = Canvas::default();
        Ok(Self { sprites, canvas })
    }

    /// The picture as rows of red, green and blue, at `scale` pixels a cell.
    ///
    /// # Errors
    /// [`PictureError::Size`].
    pub fn rgb(&mut self, list: &DrawList, scale: u32) -> Result<Rgb, PictureError> {
        self.canvas.draw(&self.sprites, list, scale)?;
        Ok(self.canvas.rgb())
    }

    /// The picture as a PNG file, at `scale` pixels a cell; transparent where nothing is drawn.
    ///
    /// # Errors
    /// [`PictureError::Size`].
    pub fn png(&mut self, list: &DrawList, scale: u32) -> Result<Vec<u8>, PictureError> {
        self.canvas.draw(&self.sprites, list, scale)?;
        Ok(self.canvas.png())
    }

    /// The picture as one SVG document that needs nothing else, 64 units a cell; `title` describes it in words.
    ///
    /// The same list and title give the same bytes. Sprites are written again from the parsed shapes, so the document
    /// contains no script, and can be put into a page as it is.
    pub fn svg(&self, list: &DrawList, title: &str) -> String {
        svg::document(&self.sprites, list, title)
    }
}
