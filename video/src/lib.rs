//! Videos: draw lists of a sequence of states to GIF and MP4 files.
//!
//! [`VideoWriter`] draws each state once, for all its files. A file is written beside its place, and moved there once it
//! is whole. GIF is written here; MP4 is encoded by the program `ffmpeg`: in pure Rust there is no encoder of H.264 that
//! compresses, and programs for slides do not play AV1.
//!
//! This crate must not know of episodes, worlds and studies: it takes lists and makes files.

#![forbid(unsafe_code)]

mod gif_file;
mod mp4_file;
mod palette;
mod part_file;

use std::io;
use std::path::{Path, PathBuf};

use env_core::draw::DrawList;
use picture::{PictureError, Renderer, Rgb};

pub use mp4_file::FFMPEG;

use gif_file::GifFile;
use mp4_file::Mp4File;

/// The least and the greatest width of a video, pixels.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 16..=4_096;
/// The slowest and the fastest pace, states a second.
const PACES: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// The reason why there is no video.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The name of the file has no known format.
    #[error("{}: name a file that ends in .gif or .mp4", .0.display())]
    Format(PathBuf),
    /// A width that no video has.
    #[error("a width of {0} pixels: choose one from {min} to {max}", min = WIDTHS.start(), max = WIDTHS.end())]
    Width(u32),
    /// A pace that no video has.
    #[error("a pace of {0} states a second: choose one from {min} to {max}", min = PACES.start(), max = PACES.end())]
    Pace(f64),
    /// A state that cannot be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        error: io::Error,
    },
    /// The program that encodes MP4 is not there.
    #[error(
        "MP4 needs the program ffmpeg, and {program} cannot be started ({error}). Install it (Debian and Ubuntu: apt install \
         ffmpeg; macOS: brew install ffmpeg; Windows: winget install ffmpeg), name it with {FFMPEG}, or write a GIF"
    )]
    NoFfmpeg {
        /// The program that was tried.
        program: String,
        /// The fault.
        error: io::Error,
    },
    /// The program that encodes MP4 failed.
    #[error("ffmpeg failed: {0}")]
    Ffmpeg(String),
    /// No state was added.
    #[error("there is nothing to show: no state was added")]
    Empty,
}

/// How large and how fast a video is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoLook {
    /// Its width in pixels, about: a cell of the world has a whole number of pixels.
    pub width: u32,
    /// States a second.
    pub states_hz: f64,
}

/// A video that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenVideo {
    /// The file.
    pub path: PathBuf,
    /// The number of frames in it.
    pub frames: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// Writes the same video to one file or more.
#[derive(Debug)]
pub struct VideoWriter {
    renderer: Renderer,
    look: VideoLook,
    paths: Vec<(PathBuf, VideoFormat)>,
    /// Since the first state.
    stage: Option<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VideoFormat {
    Gif,
    Mp4,
}

/// The size that the first state fixes, and the files.
#[derive(Debug)]
struct Stage {
    /// Pixels a cell.
    scale: u32,
    /// Width and height, pixels.
    size: [u32; 2],
    states: u32,
    files: Vec<VideoFile>,
}

#[derive(Debug)]
enum VideoFile {
    Gif(GifFile),
    Mp4(Mp4File),
}

impl VideoWriter {
    /// Prepares files, whose names end in `.gif` or `.mp4`, with the sprites of the environment: names and SVG documents.
    ///
    /// # Errors
    /// A name without a format, a look that no video has, or a sprite that cannot be drawn.
    pub fn new<N: AsRef<str>, S: AsRef<str>>(
        paths: impl IntoIterator<Item = PathBuf>,
        sprites: impl IntoIterator<Item = (N, S)>,
        look: VideoLook,
    ) -> Result<Self, VideoError> {
        if !WIDTHS.contains(&look.width) {
            return Err(VideoError::Width(look.width));
        }
        if !PACES.contains(&look.states_hz) {
            return Err(VideoError::Pace(look.states_hz));
        }
        let formats = paths.into_iter().map(|path| match format_of(&path) {
            Some(format) => Ok((path, format)),
            None => Err(VideoError::Format(path)),
        });
        Ok(Self {
            paths: formats.collect::<Result<_, _>>()?,
            renderer: Renderer::new(sprites)?,
            look,
            stage: None,
        })
    }

    /// Adds the next state. The first one fixes the size: a larger one is cut, and a smaller one filled with white.
    ///
    /// # Errors
    /// [`VideoError`] if it cannot be drawn or written; then no file is left behind.
    pub fn add_picture(&mut self, list: &DrawList) -> Result<(), VideoError> {
        let scale = match &self.stage {
            Some(stage) => stage.scale,
            None => pixels_a_cell(list.width, self.look.width),
        };
        let picture = self.renderer.rgb(list, scale)?;
        let stage = match &mut self.stage {
            Some(stage) => stage,
            None => {
                let stage = Stage::begin(&self.paths, self.look.states_hz, scale, &picture)?;
                self.stage.insert(stage)
            }
        };
        stage.add(picture)
    }

    /// Completes the files.
    ///
    /// # Errors
    /// No state was added, the disk refused, or `ffmpeg` failed.
    pub fn finish(self) -> Result<Vec<WrittenVideo>, VideoError> {
        let Stage { states, files, .. } = self.stage.ok_or(VideoError::Empty)?;
        let finished = files.into_iter().map(|file| match file {
            VideoFile::Gif(file) => file.finish(states),
            VideoFile::Mp4(file) => file.finish(),
        });
        finished.collect()
    }
}

impl Stage {
    fn begin(
        paths: &[(PathBuf, VideoFormat)],
        states_hz: f64,
        scale: u32,
        first: &Rgb,
    ) -> Result<Self, VideoError> {
        let size = [first.width, first.height];
        let files = paths.iter().map(|(path, format)| match format {
            VideoFormat::Gif => GifFile::create(path, size, states_hz).map(VideoFile::Gif),
            VideoFormat::Mp4 => Mp4File::create(path, size, states_hz).map(VideoFile::Mp4),
        });
        Ok(Self {
            scale,
            size,
            states: 0,
            files: files.collect::<Result<_, _>>()?,
        })
    }

    fn add(&mut self, picture: Rgb) -> Result<(), VideoError> {
        let pixels = fit(picture, self.size);
        for file in &mut self.files {
            match file {
                VideoFile::Gif(file) => file.add(self.states, &pixels)?,
                VideoFile::Mp4(file) => file.add(self.states, &pixels)?,
            }
        }
        self.states += 1;
        Ok(())
    }
}

/// Returns the format in the name of a file.
fn format_of(path: &Path) -> Option<VideoFormat> {
    let end = path.extension()?.to_str()?;
    [("gif", VideoFormat::Gif), ("mp4", VideoFormat::Mp4)]
        .into_iter()
        .find_map(|(name, format)| end.eq_ignore_ascii_case(name).then_some(format))
}

/// The whole number of pixels a cell that comes nearest to a width.
fn pixels_a_cell(cells: f32, width: u32) -> u32 {
    let pixels = (width as f32 / cells).round();
    // A world without a width is refused when it is drawn.
    if pixels.is_finite() {
        pixels.max(1.0) as u32
    } else {
        1
    }
}

/// The pixels of a picture, cut or filled to a size.
fn fit(picture: Rgb, [width, height]: [u32; 2]) -> Vec<u8> {
    if [picture.width, picture.height] == [width, height] {
        return picture.pixels;
    }
    let row = |of: u32| of as usize * 3;
    let mut pixels = vec![u8::MAX; row(width) * height as usize];
    let lines = picture.pixels.chunks_exact(row(picture.width));
    for (to, from) in pixels.chunks_exact_mut(row(width)).zip(lines) {
        let shared = to.len().min(from.len());
        to[..shared].copy_from_slice(&from[..shared]);
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_whole_pixels_near_the_width() {
        assert_eq!(pixels_a_cell(5.0, 480), 96);
        assert_eq!(pixels_a_cell(11.0, 480), 44);
        assert_eq!(pixels_a_cell(900.0, 400), 1);
        assert_eq!(pixels_a_cell(0.0, 400), 1);
    }

    #[test]
    fn another_size_is_cut_and_filled() {
        let picture = Rgb {
            width: 3,
            height: 1,
            pixels: (1..=9).collect(),
        };
        let white = u8::MAX;
        let expected = [1, 2, 3, 4, 5, 6, white, white, white, white, white, white];
        assert_eq!(fit(picture, [2, 2]), expected);
    }

    #[test]
    fn a_name_without_a_format_and_a_look_that_no_video_has_are_refused() {
        let refused = |path: &str, width, states_hz| {
            let look = VideoLook { width, states_hz };
            let none: [(&str, &str); 0] = [];
            let writer = VideoWriter::new([PathBuf::from(path)], none, look);
            writer.unwrap_err().to_string()
        };
        assert!(
            refused("a.avi", 480, 10.0).contains("a.avi: name a file that ends in .gif or .mp4")
        );
        assert!(refused("a.GIF", 5, 10.0).contains("from 16 to 4096"));
        assert!(refused("a.mp4", 480, f64::NAN).contains("from 0.01 to 10000"));
    }
}
