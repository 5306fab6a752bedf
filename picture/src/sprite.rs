//! A sprite, read once: checked, parsed, and free of everything but shapes.

use std::fmt::{Debug, Formatter};

use usvg::roxmltree::Document;
use usvg::{Group, Node, Options, Tree, WriteOptions};

use crate::{MAX_SPRITE_BYTES, PictureError};

/// Elements that every browser and this crate draw alike, and those that draw nothing.
const ELEMENTS: [&str; 22] = [
    "svg",
    "g",
    "defs",
    "use",
    "symbol",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "linearGradient",
    "radialGradient",
    "stop",
    "clipPath",
    "mask",
    "pattern",
    "style",
    "title",
    "desc",
    "metadata",
];
/// The most shapes of a sprite, references counted as often as they are used.
const MAX_SHAPES: usize = 10_000;

/// A picture that is drawn into the box of an item.
pub(crate) struct Sprite {
    pub(crate) tree: Tree,
}

impl Debug for Sprite {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sprite")
            .field("size", &self.tree.size())
            .finish_non_exhaustive()
    }
}

impl Sprite {
    /// Reads a document.
    pub(crate) fn read(name: &str, svg: &str) -> Result<Self, PictureError> {
        tree(svg)
            .map(|tree| Self { tree })
            .map_err(|reason| PictureError::Sprite {
                name: name.to_owned(),
                reason,
            })
    }

    /// Writes the sprite as a separate SVG element, in one line; ids begin with `prefix`.
    pub(crate) fn write(&self, prefix: &str) -> String {
        self.tree.to_string(&WriteOptions {
            id_prefix: Some(prefix.to_owned()),
            coordinates_precision: 3,
            transforms_precision: 5,
            indent: usvg::Indent::None,
            attributes_indent: usvg::Indent::None,
            ..WriteOptions::default()
        })
    }
}

fn tree(svg: &str) -> Result<Tree, String> {
    if svg.len() > MAX_SPRITE_BYTES {
        return Err(format!(
            "has {} bytes; a sprite has at most {MAX_SPRITE_BYTES}",
            svg.len()
        ));
    }
    // Documents with a DTD, and so with entities that grow, are refused here.
    let document =
        Document::parse(svg).map_err(|error| format!("is no well-formed document: {error}"))?;
    for node in document.descendants().filter(|node| node.is_element()) {
        let element = node.tag_name().name();
        if !ELEMENTS.contains(&element) {
            let line = document.text_pos_at(node.range().start).row;
            return Err(format!(
                "line {line}: <{element}> is not drawn everywhere; draw it with paths and other shapes"
            ));
        }
    }
    if !document.root_element().has_attribute("viewBox") {
        return Err("its <svg> has no viewBox, such as viewBox=\"0 0 64 64\"".to_owned());
    }
    let tree = Tree::from_xmltree(&document, &options()).map_err(|error| error.to_string())?;
    match shapes(tree.root(), MAX_SHAPES) {
        Some(_) => Ok(tree),
        None => Err(format!("has more than {MAX_SHAPES} shapes; draw fewer")),
    }
}

/// Options under which a document reaches nothing outside of itself.
fn options() -> Options<'static> {
    let mut options = Options {
        resources_dir: None,
        ..Options::default()
    };
    options.image_href_resolver.resolve_string = Box::new(|_, _| None);
    options.image_href_resolver.resolve_data = Box::new(|_, _, _| None);
    options
}

/// Subtracts the shapes of this group from a number of shapes; `None` if there are more.
fn shapes(group: &Group, left: usize) -> Option<usize> {
    group
        .children()
        .iter()
        .try_fold(left, |left, node| match node {
            Node::Group(group) => shapes(group, left.checked_sub(1)?),
            _ => left.checked_sub(1),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(svg: &str) -> String {
        Sprite::read("lamp", svg).unwrap_err().to_string()
    }

    #[test]
    fn a_sprite_that_cannot_be_drawn_is_named_with_its_fault() {
        let torn = refused("<svg viewBox=\"0 0 64 64\"><path d=\"M0 0\"");
        assert!(
            torn.starts_with("sprite `lamp`: is no well-formed document"),
            "{torn}"
        );
        let sized =
            refused("<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"M0 0h1v1z\"/></svg>");
        assert!(sized.contains("viewBox"), "{sized}");
        assert!(refused("").contains("lamp"));
        assert!(refused("<html/>").contains("<html>"));
        assert!(refused(&" ".repeat(MAX_SPRITE_BYTES + 1)).contains("bytes"));
    }

    #[test]
    fn what_reaches_outside_or_acts_is_refused() {
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\">\n";
        for element in [
            "image href=\"/etc/hostname\"",
            "script",
            "text",
            "foreignObject",
            "filter",
        ] {
            let found = refused(&format!("{head}<{element}/></svg>"));
            let name = element.split(' ').next().unwrap();
            assert!(found.contains(&format!("line 2: <{name}>")), "{found}");
        }
        let dtd = "<!DOCTYPE svg [<!ENTITY a \"aaaa\">]><svg viewBox=\"0 0 1 1\"/>";
        assert!(refused(dtd).contains("DTD"), "{}", refused(dtd));
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><g id=\"g0\"><path d=\"M0 0h1v1z\"/></g>".to_owned();
        for level in 1..8 {
            let below = format!("<use href=\"#g{}\"/>", level - 1);
            svg += &format!("<g id=\"g{level}\">{}</g>", below.repeat(10));
        }
        let found = refused(&(svg + "</svg>"));
        assert!(found.contains("lamp"), "{found}");
    }

    #[test]
    fn a_written_sprite_has_neither_script_nor_shared_ids() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\" onload=\"alert(1)\">\
            <linearGradient id=\"a\"><stop stop-color=\"red\"/><stop offset=\"1\"/></linearGradient>\
            <path onclick=\"alert(2)\" fill=\"url(#a)\" d=\"M0 0h64v64z\"/></svg>";
        let sprite = Sprite::read("lamp", svg).unwrap();
        let written = sprite.write("s3-");
        assert!(!written.contains("alert"), "{written}");
        assert!(
            written.contains("id=\"s3-a\"") && written.contains("url(#s3-a)"),
            "{written}"
        );
    }
}
