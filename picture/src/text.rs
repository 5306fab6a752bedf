//! Text as outlines of the one font within, so that a picture needs no font of the machine.

use resvg::tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::shapes::Place;

/// A bold sans, Latin and a few signs; see the licence beside it.
const FONT: &[u8] = include_bytes!("font/sans_bold.ttf");
/// More characters than this are not drawn: nobody could read them.
const MAX_CHARS: usize = 400;

/// The outline of a text centred in a place, whose height is the font size.
pub(crate) fn outline_text(text: &str, [x, y, w, h]: Place) -> Option<Path> {
    let face = Face::parse(FONT, 0).expect("the font within is whole");
    let scale = h / f32::from(face.units_per_em());
    let glyphs: Vec<GlyphId> = text
        .chars()
        .take(MAX_CHARS)
        .map(|char| face.glyph_index(char).unwrap_or(GlyphId(0)))
        .collect();
    let advance = |&glyph| f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    let width: f32 = glyphs.iter().map(advance).sum();
    // The middle of the em box in the middle of the place, as a canvas has it for the baseline "middle".
    let ascent = face.typographic_ascender().unwrap_or(face.ascender());
    let descent = face.typographic_descender().unwrap_or(face.descender());
    let (ascent, descent) = (f32::from(ascent), f32::from(descent));
    let rise = h * (ascent + descent) / (ascent - descent) / 2.0;
    let mut pen = Pen {
        path: PathBuilder::new(),
        x: x + (w - width) / 2.0,
        y: y + h / 2.0 + rise,
        scale,
    };
    for glyph in &glyphs {
        // Blank glyphs have no outline, and only move the pen.
        let _ = face.outline_glyph(*glyph, &mut pen);
        pen.x += advance(glyph);
    }
    pen.path.finish()
}

/// Writes glyphs, whose `y` grows upwards, into a path, whose `y` grows downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_lies_in_the_middle_of_its_place() {
        let bounds = outline_text("H", [10.0, 20.0, 100.0, 40.0])
            .unwrap()
            .bounds();
        assert!(
            (bounds.left() + bounds.right() - 120.0).abs() < 1.0,
            "{bounds:?}"
        );
        assert!(bounds.top() > 20.0 && bounds.bottom() < 60.0, "{bounds:?}");
    }

    #[test]
    fn what_the_font_lacks_is_a_box_and_blanks_are_blank() {
        assert!(outline_text("\u{4e16}", [0.0, 0.0, 10.0, 10.0]).is_some());
        assert!(outline_text(" ", [0.0, 0.0, 10.0, 10.0]).is_none());
        assert!(outline_text("", [0.0, 0.0, 10.0, 10.0]).is_none());
    }
}
