//! The page of a replay: one HTML file with everything in it, which asks no server for anything.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use protocol::hash::sha256;

use crate::Replay;

const PAGE: &str = include_str!("../page/replay.html");
const STYLE: &str = include_str!("../page/replay.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../page/pictures.js"),
    include_str!("../page/episode.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/viewer.js"),
];

/// The level of compression: pages are written once, and sent around.
const LEVEL: u8 = 8;

/// Writes the page of one replay, or of two side by side on one clock.
///
/// Its policy lets it run its own script, paint its own pictures, and reach nothing else.
pub fn write_page(replays: &[Replay]) -> String {
    let names: Vec<&str> = replays.iter().map(Replay::name).collect();
    let json = serde_json::to_vec(replays).expect("a replay is plain data");
    let data = miniz_oxide::deflate::compress_to_vec_zlib(&json, LEVEL);
    let script = format!("'use strict';\n{}", SCRIPTS.concat());
    let parts = [
        ("{{title}}", escape(&names.join(" | "))),
        (
            "{{script-hash}}",
            BASE64_STANDARD.encode(sha256(script.as_bytes())),
        ),
        (
            "{{style-hash}}",
            BASE64_STANDARD.encode(sha256(STYLE.as_bytes())),
        ),
        ("{{style}}", STYLE.to_owned()),
        ("{{data}}", BASE64_STANDARD.encode(data)),
        ("{{script}}", script),
    ];
    // One pass from the front, so that nothing within a part is taken for the place of another.
    let (mut page, mut rest) = (String::new(), PAGE);
    for (place, part) in parts {
        let (before, after) = rest.split_once(place).expect("the page has every place");
        page += before;
        page += &part;
        rest = after;
    }
    page + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
