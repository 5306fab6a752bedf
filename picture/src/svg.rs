//! Draw lists to SVG.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use env_core::draw::{DrawItem, DrawList, Shape};

use crate::shapes::{self, RING};
use crate::sprite::Sprite;

/// Units a cell.
const UNIT: f64 = 64.0;
/// Nothing is farther away, thousandths of a unit.
const FARTHEST: f64 = 1e12;
/// From the middle of the em box down to the baseline, of the font size, in most fonts.
/// Programs other than browsers ignore `dominant-baseline`.
const BASELINE: f32 = 0.26;

/// One document: what the list uses of the sprites, then its items.
pub(crate) fn document(sprites: &[Sprite], list: &DrawList, title: &str) -> String {
    let (width, height) = (units(list.width), units(list.height));
    let title = escape(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
    );
    for index in used(list) {
        if let Some(sprite) = sprites.get(usize::from(index)) {
            symbol(&mut out, index, sprite);
        }
    }
    let _ = writeln!(
        out,
        "<rect width=\"{width}\" height=\"{height}\"{}/>",
        painted("fill", list.background)
    );
    for item in &list.items {
        if [item.x, item.y, item.w, item.h]
            .iter()
            .all(|value| value.is_finite())
        {
            draw(&mut out, sprites.len(), item);
        }
    }
    out + "</svg>\n"
}

/// The sprites of a list, in the order of the environment.
fn used(list: &DrawList) -> BTreeSet<u16> {
    let sprites = list.items.iter().filter_map(|item| match item.shape {
        Shape::Sprite(index) => Some(index),
        _ => None,
    });
    sprites.collect()
}

/// A sprite, to be used again and again. Its own ids begin with its own, so that no two are alike.
fn symbol(out: &mut String, index: u16, sprite: &Sprite) {
    let written = sprite.write(&format!("s{index}-"));
    let size = sprite.tree.size();
    let content = written
        .find('>')
        .map_or("", |end| &written[end + 1..])
        .trim_end()
        .trim_end_matches("</svg>");
    let _ = writeln!(
        out,
        "<symbol id=\"s{index}\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\">{content}</symbol>",
        size.width(),
        size.height()
    );
}

fn draw(out: &mut String, sprites: usize, item: &DrawItem) {
    let [x, y, w, h] = [item.x, item.y, item.w, item.h].map(units);
    let (cx, cy) = (units(item.x + item.w / 2.0), units(item.y + item.h / 2.0));
    let _ = match &item.shape {
        Shape::Sprite(index) if usize::from(*index) < sprites => writeln!(
            out,
            "<use href=\"#s{index}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>"
        ),
        Shape::Sprite(_) => writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{}\" fill=\"#999\" fill-opacity=\".333\"/>",
            units(item.w / 6.0)
        ),
        Shape::Rect { radius, color } => writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{}\"{}/>",
            units(radius.max(0.0).min(item.w / 2.0).min(item.h / 2.0)),
            painted("fill", *color)
        ),
        Shape::Ellipse { color } => writeln!(
            out,
            "<ellipse cx=\"{cx}\" cy=\"{cy}\" rx=\"{}\" ry=\"{}\"{}/>",
            units(item.w / 2.0),
            units(item.h / 2.0),
            painted("fill", *color)
        ),
        Shape::Progress { part, color } => {
            let side = item.w.min(item.h);
            let (thickness, part) = (side * RING, shapes::part(*part));
            // A path length of 1 lets the dash be the part; it begins at the top.
            writeln!(
                out,
                "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"{}\" fill=\"none\" stroke-width=\"{}\" pathLength=\"1\" \
                 stroke-dasharray=\"{part} 1\" transform=\"rotate(-90 {cx} {cy})\"{}/>",
                units((side - thickness) / 2.0),
                units(thickness),
                painted("stroke", *color)
            )
        }
        Shape::Text { text, color } => writeln!(
            out,
            "<text x=\"{cx}\" y=\"{}\" font-family=\"system-ui, sans-serif\" font-weight=\"600\" font-size=\"{h}\" \
             text-anchor=\"middle\"{}>{}</text>",
            units(item.y + item.h * (0.5 + BASELINE)),
            painted("fill", *color),
            escape(text)
        ),
        Shape::Pixels { width, height, rgb } => draw_pixels(out, item, [*width, *height], rgb),
    };
}

/// Pixels as rectangles, one for each stretch of a row with one colour.
fn draw_pixels(
    out: &mut String,
    item: &DrawItem,
    [columns, rows]: [u16; 2],
    rgb: &[u8],
) -> std::fmt::Result {
    let columns_usize = usize::from(columns);
    if columns == 0 || rgb.len() != columns_usize * usize::from(rows) * 3 {
        return Ok(());
    }
    let [x, y, w, h] = [item.x, item.y, item.w, item.h].map(units);
    writeln!(
        out,
        "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {columns} {rows}\" \
         preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">"
    )?;
    for (y, row) in rgb.chunks_exact(columns_usize * 3).enumerate() {
        let mut x = 0;
        let pixels: Vec<&[u8]> = row.chunks_exact(3).collect();
        for stretch in pixels.chunk_by(|one, other| one == other) {
            let [red, green, blue] = [0, 1, 2].map(|at| stretch[0][at]);
            let width = stretch.len();
            writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"1\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>"
            )?;
            x += width;
        }
    }
    writeln!(out, "</svg>")
}

/// Cells in units, to a thousandth; what a module sends may be any number.
fn units(cells: f32) -> f64 {
    let thousandths = (f64::from(cells) * UNIT * 1_000.0).clamp(-FARTHEST, FARTHEST);
    if thousandths.is_nan() {
        return 0.0;
    }
    // Adding 0 turns a negative zero into a zero.
    thousandths.round() / 1_000.0 + 0.0
}

/// A colour as attributes that every program reads.
fn painted(what: &str, rgba: u32) -> String {
    let (rgb, alpha) = (rgba >> 8, rgba & 0xff);
    let solid = format!(" {what}=\"#{rgb:06x}\"");
    if alpha == 0xff {
        return solid;
    }
    let alpha = (f64::from(alpha) / 0.255).round() / 1_000.0;
    format!("{solid} {what}-opacity=\"{alpha}\"")
}

/// Text for content and attributes; characters that XML has not are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}
