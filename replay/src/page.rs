//! The page of a replay: one HTML file with everything in it, which asks no server for anything.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use protocol::hash::sha256;

use crate::Replay;

const PAGE: &str = include_str!("../page/replay.html");
const STYLE: &str = concat!(
    include_str!("../page/replay.css"),
    include_str!("../page/annotate.css")
);
/// The first two are modules of participants' pages, too.
const SCRIPTS: [&str; 8] = [
    include_str!("../page/pictures.js"),
    include_str!("../page/annotate.js"),
    include_str!("../page/annotations.js"),
    include_str!("../page/episode.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/gif.js"),
    include_str!("../page/videos.js"),
    include_str!("../page/viewer.js"),
];

/// The files of participants' pages that show films, by their names; they lie in one folder.
pub const FILM_FILES: [(&str, &str); 4] = [
    ("film.js", include_str!("../page/film.js")),
    ("annotate.js", include_str!("../page/annotate.js")),
    ("pictures.js", include_str!("../page/pictures.js")),
    ("annotate.css", include_str!("../page/annotate.css")),
];

/// The level of compression: pages are written once, and sent around.
const LEVEL: u8 = 8;

/// Writes the page of one replay, or of two side by side on one clock.
///
/// Its policy lets it run its own script, paint its own pictures, and reach nothing else.
pub fn write_page(replays: &[Replay]) -> String {
    let names: Vec<&str> = replays.iter().map(Replay::name).collect();
    let data = pack(replays);
    let scripts: String = SCRIPTS.into_iter().map(as_script).collect();
    let script = format!("'use strict';\n{scripts}");
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

/// Plain data as JSON, in a stream of zlib.
pub(crate) fn pack(data: &(impl serde::Serialize + ?Sized)) -> Vec<u8> {
    let json = serde_json::to_vec(data).expect("plain data serialises into memory");
    miniz_oxide::deflate::compress_to_vec_zlib(&json, LEVEL)
}

/// A module without its lines that import and export: in the page, all scripts are one.
fn as_script(module: &str) -> String {
    let is_own = |line: &&str| !line.starts_with("import {") && !line.starts_with("export {");
    let lines = module.lines().filter(is_own);
    lines.map(|line| format!("{line}\n")).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
