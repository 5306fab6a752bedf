//! The draw list: a resolution-independent picture of a state.
//!
//! Units are cells; `x` grows to the right, `y` downwards; the origin is the top left corner.
//! One list feeds the canvas in the browser and, natively, SVG and PNG.
//! Items are drawn in the order of the list. An item with a stable `id` (not 0) is tweened from where it was.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A picture that an environment ships: an SVG document, drawn into the box of a [`Shape::Sprite`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sprite {
    /// Name, such as `chef_down_blue`.
    pub name: &'static str,
    /// A self-contained SVG document with a `viewBox`.
    pub svg: &'static str,
}

/// The look of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// The sprite with this index in the environment's list.
    Sprite(u16),
    /// A rectangle with rounded corners (`radius` in cells) and a colour `0xRRGGBBAA`.
    Rect {
        /// Corner radius, cells.
        radius: f32,
        /// Colour, `0xRRGGBBAA`.
        color: u32,
    },
    /// An ellipse that fills the box.
    Ellipse {
        /// Colour, `0xRRGGBBAA`.
        color: u32,
    },
    /// A ring of progress, from the top clockwise; `part` in 0 to 1.
    Progress {
        /// The filled part of the ring.
        part: f32,
        /// Colour, `0xRRGGBBAA`.
        color: u32,
    },
    /// Text centred in the box; the height of the box is the font size.
    Text {
        /// The words.
        text: String,
        /// Colour, `0xRRGGBBAA`.
        color: u32,
    },
    /// Pixels, stretched over the box.
    Pixels {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
        /// Red, green and blue of each pixel: `[row, column, 3]`, row-major, `u8`.
        rgb: Vec<u8>,
    },
}

/// One item of the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawItem {
    /// Stable identity for tweening; 0 for none. The item of seat `s` has `s + 1`,
    /// so that a view can point out the seat of its person.
    pub id: u32,
    /// Left edge, cells.
    pub x: f32,
    /// Top edge, cells.
    pub y: f32,
    /// Width, cells.
    pub w: f32,
    /// Height, cells.
    pub h: f32,
    /// Its look.
    pub shape: Shape,
}

/// The picture of a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DrawList {
    /// Width of the world, cells.
    pub width: f32,
    /// Height of the world, cells.
    pub height: f32,
    /// Background, `0xRRGGBBAA`.
    pub background: u32,
    /// The items, back to front.
    pub items: Vec<DrawItem>,
}

impl DrawList {
    /// Empties the list for the next picture, keeping its memory.
    pub fn begin(&mut self, width: f32, height: f32, background: u32) {
        (self.width, self.height, self.background) = (width, height, background);
        self.items.clear();
    }

    /// Adds an item.
    pub fn push(&mut self, id: u32, [x, y, w, h]: [f32; 4], shape: Shape) {
        self.items.push(DrawItem {
            id,
            x,
            y,
            w,
            h,
            shape,
        });
    }
}
