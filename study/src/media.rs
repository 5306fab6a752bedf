//! Pictures and videos of the study folder that pages show. A page names them by their hash, so the study's hash
//! determines what a participant has seen.

use std::fmt;
use std::sync::Arc;

use protocol::hash::sha256_hex;
use pulldown_cmark_escape::escape_html;
use serde::Serialize;

use crate::folder::{self, StudyFolder};
use crate::limits::{MAX_PICTURE, MAX_VIDEO};
use crate::problem::make_hint;
use crate::read::Cursor;

/// The path of media on the page's own server.
pub const FOLDER: &str = "/media/";

/// A picture, a video, or the captions of a video.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Media {
    /// The file, relative to the study folder.
    pub file: String,
    /// SHA-256 of its bytes, lower-case hex; part of the study's hash.
    pub sha256: String,
    /// The kind of file, by the end of its name.
    #[serde(skip)]
    kind: MediaKind,
    /// Its bytes.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
    /// Width and height, pixels, of a picture that has them.
    #[serde(skip)]
    size: Option<(usize, usize)>,
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.sha256)
    }
}

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MediaKind {
    Png,
    Jpeg,
    Webp,
    Gif,
    Svg,
    Mp4,
    Webm,
    Captions,
}

/// The ends of names, the kinds of files, and their media types.
const KINDS: [(&str, MediaKind, &str); 9] = [
    ("png", MediaKind::Png, "image/png"),
    ("jpg", MediaKind::Jpeg, "image/jpeg"),
    ("jpeg", MediaKind::Jpeg, "image/jpeg"),
    ("webp", MediaKind::Webp, "image/webp"),
    ("gif", MediaKind::Gif, "image/gif"),
    ("svg", MediaKind::Svg, "image/svg+xml"),
    ("mp4", MediaKind::Mp4, "video/mp4"),
    ("webm", MediaKind::Webm, "video/webm"),
    ("vtt", MediaKind::Captions, "text/vtt; charset=utf-8"),
];

impl MediaKind {
    fn of(file: &str) -> Option<Self> {
        let ending = file.rsplit_once('.')?.1.to_ascii_lowercase();
        let known = KINDS.iter().find(|(known, ..)| *known == ending);
        known.map(|(_, kind, _)| *kind)
    }

    fn row(self) -> &'static (&'static str, Self, &'static str) {
        let row = KINDS.iter().find(|(_, kind, _)| *kind == self);
        row.expect("every kind has a row")
    }

    fn is_video(self) -> bool {
        matches!(self, Self::Mp4 | Self::Webm)
    }

    /// Returns whether bytes begin as such a file does.
    ///
    /// Source: the magic numbers of the formats.
    fn fits(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
            Self::Webp => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
            Self::Gif => bytes.starts_with(b"GIF8"),
            Self::Svg => bytes.windows(4).any(|part| part == b"<svg"),
            Self::Mp4 => bytes.get(4..8) == Some(b"ftyp"),
            Self::Webm => bytes.starts_with(b"\x1a\x45\xdf\xa3"),
            Self::Captions => bytes.starts_with(b"WEBVTT"),
        }
    }
}

impl Media {
    /// Returns its path on the page's own server.
    pub fn path(&self) -> String {
        format!("{FOLDER}{}.{}", self.sha256, self.kind.row().0)
    }

    /// Its media type.
    pub fn media_type(&self) -> &'static str {
        self.kind.row().2
    }

    /// Returns the element that shows it, with the words for people who do not see it, and its captions if it is a
    /// video.
    pub(crate) fn write_html(&self, words: &str, captions: Option<&Self>) -> String {
        let mut text = String::new();
        escape_html(&mut text, words).expect("a string takes text");
        let path = self.path();
        if !self.kind.is_video() {
            let size = (self.size).map_or(String::new(), |(width, height)| {
                format!(" width=\"{width}\" height=\"{height}\"")
            });
            return format!("<img src=\"{path}\" alt=\"{text}\"{size}>");
        }
        let track = captions.map_or(String::new(), |captions| {
            format!(
                "<track kind=\"captions\" src=\"{}\" default>",
                captions.path()
            )
        });
        format!(
            "<video controls playsinline preload=\"metadata\" src=\"{path}\" aria-label=\"{text}\">{track}</video>"
        )
    }
}

/// Reads a file that a page names, relative to the page's folder; for a video, also the captions beside it, if there
/// are any.
pub(crate) fn read(
    dir: &StudyFolder,
    page: &str,
    place: &Cursor<'_>,
    named: &str,
) -> Option<Vec<Media>> {
    if named.contains("://") || named.starts_with("//") || named.starts_with("data:") {
        place.report_problem(format!(
            "`{named}` is not in the study folder; put the file there, as pages ask no other site for anything"
        ));
        return None;
    }
    let folder = page.rfind('/').map_or("", |end| &page[..=end]);
    let file = format!("{folder}{named}");
    let mut found = vec![one(dir, place, &file)?];
    let captions = file.rsplit_once('.').map(|(stem, _)| format!("{stem}.vtt"));
    if let Some(captions) = captions.filter(|_| found[0].kind.is_video())
        && matches!(dir.find_len(&captions), Ok(Some(_)))
    {
        found.push(one(dir, place, &captions)?);
    }
    Some(found)
}

fn one(dir: &StudyFolder, place: &Cursor<'_>, file: &str) -> Option<Media> {
    let Some(kind) = MediaKind::of(file) else {
        let known: Vec<&str> = KINDS.iter().map(|(ending, ..)| *ending).collect();
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let hint = make_hint(ending, &known);
        place.report_problem(format!(
            "`{file}` is no picture or video that every browser shows; {hint}"
        ));
        return None;
    };
    let limit = if kind.is_video() {
        MAX_VIDEO
    } else {
        MAX_PICTURE
    };
    let bytes = folder::read_bytes(dir, place, file, limit, "kitchen.png")?;
    if !kind.fits(&bytes) {
        let ending = kind.row().0;
        place.report_problem(format!(
            "`{file}` is named as a {ending} file, and is none; save it as one, or name it as what it is"
        ));
        return None;
    }
    let size = imagesize::blob_size(&bytes).ok();
    Some(Media {
        file: file.to_owned(),
        sha256: sha256_hex(&bytes),
        kind,
        size: size.map(|size| (size.width, size.height)),
        bytes: bytes.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(kind: MediaKind) -> Media {
        Media {
            file: "a".to_owned(),
            sha256: "0f".repeat(32),
            kind,
            bytes: Arc::default(),
            size: (kind == MediaKind::Png).then_some((40, 30)),
        }
    }

    #[test]
    fn an_element_has_words_a_size_and_captions() {
        let picture = media(MediaKind::Png).write_html("a <pot> & \"soup\"", None);
        let path = format!("/media/{}", "0f".repeat(32));
        let expected = format!(
            "<img src=\"{path}.png\" alt=\"a &lt;pot&gt; &amp; &quot;soup&quot;\" width=\"40\" height=\"30\">"
        );
        assert_eq!(picture, expected);
        let video = media(MediaKind::Mp4).write_html("How", Some(&media(MediaKind::Captions)));
        assert!(video.contains(&format!(
            "<track kind=\"captions\" src=\"{path}.vtt\" default>"
        )));
        assert!(video.starts_with("<video controls"), "{video}");
    }

    #[test]
    fn a_file_is_what_its_name_says() {
        assert!(MediaKind::Png.fits(b"\x89PNG\r\n\x1a\n...."));
        assert!(!MediaKind::Png.fits(b"\xff\xd8\xff"));
        assert!(MediaKind::Mp4.fits(b"\0\0\0\x20ftypisom"));
        assert!(!MediaKind::Mp4.fits(b"\0\0"));
        assert!(MediaKind::of("A.PNG") == Some(MediaKind::Png) && MediaKind::of("png").is_none());
    }
}
