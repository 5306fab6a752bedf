//! Checks that a renderer draws the right pixels and the same bytes, and takes no harm from what a module may send.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;

use env_core::art;
use env_core::draw::{DrawList, Shape, Sprite};
use picture::{PictureError, Renderer, Rgb};

const SQUARE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 10 10\">\
    <path fill=\"#f00\" d=\"M0 0h10v10H0z\"/></svg>";

fn renderer(sprites: &[Sprite]) -> Renderer {
    Renderer::new(sprites.iter().map(|sprite| (sprite.name, sprite.svg))).unwrap()
}

fn list(width: f32, height: f32, items: &[([f32; 4], Shape)]) -> DrawList {
    let mut list = DrawList::default();
    list.begin(width, height, 0x0000_ffff);
    for (place, shape) in items {
        list.push(0, *place, shape.clone());
    }
    list
}

fn pixel(picture: &Rgb, x: u32, y: u32) -> [u8; 3] {
    let at = 3 * (y * picture.width + x) as usize;
    picture.pixels[at..at + 3].try_into().unwrap()
}

#[test]
fn items_cover_what_is_behind_them_and_nothing_else() {
    let square = ("square".to_owned(), SQUARE.to_owned());
    let mut renderer = Renderer::new([square]).unwrap();
    let items = [
        ([1.0, 0.0, 1.0, 1.0], Shape::Sprite(0)),
        (
            [1.5, 0.5, 1.0, 1.0],
            Shape::Rect {
                radius: 0.0,
                color: 0x00ff_00ff,
            },
        ),
        (
            [2.0, 1.0, 1.0, 1.0],
            Shape::Rect {
                radius: 0.0,
                color: 0xffff_ff80,
            },
        ),
    ];
    let picture = renderer.rgb(&list(3.0, 2.0, &items), 10).unwrap();
    assert_eq!((picture.width, picture.height), (30, 20));
    assert_eq!(picture.pixels.len(), 30 * 20 * 3);
    assert_eq!(pixel(&picture, 5, 5), [0, 0, 255]);
    assert_eq!(pixel(&picture, 12, 2), [255, 0, 0]);
    assert_eq!(pixel(&picture, 17, 7), [0, 255, 0]);
    let [r, g, b] = pixel(&picture, 27, 17);
    assert!(
        r.abs_diff(128) < 2 && g.abs_diff(128) < 2 && b == 255,
        "{r} {g} {b}"
    );
}

#[test]
fn what_lies_across_an_edge_is_cut_there() {
    let mut renderer = Renderer::new([("square", SQUARE)]).unwrap();
    for (place, inside, outside) in [
        ([-0.5, -0.5, 1.0, 1.0], [2, 2], [7, 7]),
        ([0.5, 0.5, 1.0, 1.0], [7, 7], [2, 2]),
    ] {
        let picture = renderer
            .rgb(&list(1.0, 1.0, &[(place, Shape::Sprite(0))]), 10)
            .unwrap();
        assert_eq!(pixel(&picture, inside[0], inside[1]), [255, 0, 0]);
        assert_eq!(pixel(&picture, outside[0], outside[1]), [0, 0, 255]);
    }
}

#[test]
fn what_is_transparent_shows_white_in_rgb() {
    let mut clear = list(1.0, 1.0, &[]);
    clear.background = 0x0000_0000;
    let picture = renderer(&[]).rgb(&clear, 4).unwrap();
    assert!(picture.pixels.iter().all(|&part| part == 255));
}

#[test]
fn a_file_begins_as_one_and_holds_the_same_picture() {
    let world = list(2.0, 1.0, &[([0.0, 0.0, 1.0, 1.0], Shape::Sprite(0))]);
    let mut renderer = renderer(art!["pot"]);
    let png = renderer.png(&world, 16).unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (32, 16));
    assert_eq!(png, renderer.png(&world, 16).unwrap());
}

#[test]
fn a_picture_without_pixels_or_with_too_many_is_refused() {
    let mut renderer = renderer(&[]);
    for (width, height, scale) in [
        (0.0, 1.0, 32),
        (1.0, -1.0, 32),
        (f32::NAN, 1.0, 32),
        (f32::INFINITY, 1.0, 32),
        (1.0, 1.0, 0),
        (1.0e4, 1.0, 32),
    ] {
        let refused = renderer.rgb(&list(width, height, &[]), scale);
        assert!(
            matches!(refused, Err(PictureError::Size { .. })),
            "{width} {height} {scale}"
        );
    }
    assert!(renderer.rgb(&list(2.0, 2.0, &[]), 32).is_ok());
}

/// Numbers that a module may send: none of them may harm the host.
const ODD: [f32; 10] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN,
    -1.0,
    0.0,
    1.0e-30,
    1.0e5,
    3.0e9,
];

#[test]
fn odd_numbers_draw_a_picture_in_every_form() {
    let mut renderer = renderer(art!["pot", "shade_top"]);
    for a in ODD {
        for b in ODD {
            let color = 0xff00_0080;
            let shapes = [
                Shape::Sprite(0),
                Shape::Sprite(1),
                Shape::Sprite(u16::MAX),
                Shape::Rect { radius: b, color },
                Shape::Ellipse { color },
                Shape::Progress { part: b, color },
                Shape::Text {
                    text: "\u{0}<&\"\u{ffff}a\u{1F372}".repeat(300),
                    color,
                },
            ];
            for place in [[a, b, 1.0, 1.0], [0.5, 0.5, a, b], [a, a, b, b]] {
                let items: Vec<_> = shapes.iter().map(|shape| (place, shape.clone())).collect();
                let list = list(2.0, 2.0, &items);
                assert_eq!(renderer.rgb(&list, 8).unwrap().pixels.len(), 16 * 16 * 3);
                let svg = renderer.svg(&list, "odd");
                usvg::roxmltree::Document::parse(&svg).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{a} {b}");
            }
        }
    }
}

#[test]
fn a_document_has_a_title_and_no_id_twice_and_is_always_the_same() {
    let all: &[Sprite] = art!["*"];
    let renderer = renderer(all);
    let mut world = list(all.len() as f32, 1.0, &[]);
    for k in 0..all.len() {
        world.push(0, [k as f32, 0.0, 1.0, 1.0], Shape::Sprite(k as u16));
    }
    let svg = renderer.svg(&world, "Soup & \"more\" <now>");
    assert_eq!(svg, renderer.svg(&world, "Soup & \"more\" <now>"));
    let document = usvg::roxmltree::Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("aria-label"), Some("Soup & \"more\" <now>"));
    assert_eq!(
        root.first_element_child().unwrap().text(),
        Some("Soup & \"more\" <now>")
    );
    let ids: Vec<_> = document
        .descendants()
        .filter_map(|node| node.attribute("id"))
        .collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for used in document
        .descendants()
        .filter_map(|node| node.attribute("href"))
    {
        assert!(ids.contains(&used.trim_start_matches('#')), "{used}");
    }
}

#[test]
fn a_document_carries_only_the_sprites_that_are_shown() {
    let renderer = renderer(art!["pot", "onion"]);
    let svg = renderer.svg(
        &list(1.0, 1.0, &[([0.0, 0.0, 1.0, 1.0], Shape::Sprite(1))]),
        "onion",
    );
    assert!(svg.contains("id=\"s1\"") && !svg.contains("id=\"s0\""));
}
