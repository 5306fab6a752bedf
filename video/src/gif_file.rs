//! A GIF: every frame repaints the rectangle that differs from the frame before, and equal states are one frame.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use gif::{Encoder, EncodingError, Frame, Repeat};

use crate::palette::{Pixel, make_frame};
use crate::part_file::PartFile;
use crate::{VideoError, WrittenVideo};

/// The shortest time of a frame, hundredths of a second: browsers show shorter ones for a tenth of a second.
const LEAST_CS: u64 = 2;
/// The longest time of a frame.
const MOST_CS: u64 = 60_000;
/// The time of the last state before the GIF begins again.
const LAST_CS: u64 = 100;

/// A GIF on its way.
#[derive(Debug)]
pub(crate) struct GifFile {
    encoder: EncoderOf,
    size: [u32; 2],
    states_hz: f64,
    /// The picture that the frames so far leave; empty before the first.
    shown: Vec<u8>,
    /// The next frame, and the time at which it begins, hundredths of a second.
    next: Option<(u64, Vec<u8>)>,
    frames: u32,
    part: PartFile,
}

struct EncoderOf(Encoder<BufWriter<File>>);

impl std::fmt::Debug for EncoderOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoder")
    }
}

impl GifFile {
    pub(crate) fn create(path: &Path, size: [u32; 2], states_hz: f64) -> Result<Self, VideoError> {
        let part = PartFile::beside_file(path);
        let file = File::create(part.path()).map_err(|error| part.as_error(error))?;
        let [width, height] = size.map(|side| side as u16);
        let encoder = Encoder::new(BufWriter::new(file), width, height, &[]);
        let encoder = encoder.and_then(|mut encoder| {
            encoder.set_repeat(Repeat::Infinite)?;
            Ok(EncoderOf(encoder))
        });
        Ok(Self {
            encoder: encoder.map_err(|error| failed(&part, error))?,
            size,
            states_hz,
            shown: Vec::new(),
            next: None,
            frames: 0,
            part,
        })
    }

    /// Adds a state, whose pixels have the size of the GIF; `index` counts states from 0.
    pub(crate) fn add(&mut self, index: u32, pixels: &[u8]) -> Result<(), VideoError> {
        let at = self.time_cs(index);
        match &mut self.next {
            Some((_, next)) if next == pixels => return Ok(()),
            Some((since, next)) if at - *since < LEAST_CS => {
                next.copy_from_slice(pixels);
                return Ok(());
            }
            Some(_) => self.write_next(at)?,
            None => {}
        }
        self.next = Some((at, pixels.to_vec()));
        Ok(())
    }

    /// Writes the rest; `states` were added.
    pub(crate) fn finish(mut self, states: u32) -> Result<WrittenVideo, VideoError> {
        let last = self.time_cs(states.saturating_sub(1));
        self.write_next(self.time_cs(states).max(last + LAST_CS))?;
        let (part, frames) = (self.part, self.frames);
        let file = self.encoder.0.into_inner();
        let mut file = file.map_err(|error| failed(&part, error))?;
        file.flush().map_err(|error| part.as_error(error))?;
        drop(file);
        let path = part.place().to_owned();
        let bytes = part.finish()?;
        Ok(WrittenVideo {
            path,
            frames,
            bytes,
        })
    }

    fn time_cs(&self, index: u32) -> u64 {
        (f64::from(index) * 100.0 / self.states_hz).round() as u64
    }

    /// Writes the next frame, which is shown until then.
    fn write_next(&mut self, until_cs: u64) -> Result<(), VideoError> {
        let Some((since_cs, pixels)) = self.next.take() else {
            return Ok(());
        };
        let mut left = until_cs - since_cs;
        let mut frame = self.changed_part(&pixels);
        self.shown = pixels;
        loop {
            let delay = left.min(MOST_CS);
            frame.delay = delay as u16;
            let written = self.encoder.0.write_frame(&frame);
            written.map_err(|error| failed(&self.part, error))?;
            self.frames += 1;
            left -= delay;
            if left == 0 {
                return Ok(());
            }
            frame = make_frame([1, 1], &[None]);
        }
    }

    /// The rectangle that differs from what is shown.
    fn changed_part(&self, pixels: &[u8]) -> Frame<'static> {
        let width = self.size[0] as usize;
        let pixel = |at: usize| [0, 1, 2].map(|part| pixels[at * 3 + part]);
        let shown = self.shown.as_slice();
        let changed = |at: usize| -> Pixel {
            let is_changed = shown.is_empty() || shown[at * 3..][..3] != pixels[at * 3..][..3];
            is_changed.then(|| pixel(at))
        };
        let places = (0..pixels.len() / 3).filter(|at| changed(*at).is_some());
        let bounds = places.fold(None, |bounds, at| {
            let (row, column) = (at / width, at % width);
            let [top, bottom, left, right] = bounds.unwrap_or([row, row, column, column]);
            Some([top, row.max(bottom), left.min(column), right.max(column)])
        });
        // A state that came back before it was shown: nothing changes, and time passes.
        let [top, bottom, left, right] = bounds.unwrap_or_default();
        let rows =
            (top..=bottom).flat_map(|row| (left..=right).map(move |column| row * width + column));
        let part: Vec<Pixel> = rows.map(changed).collect();
        let size = [right - left + 1, bottom - top + 1].map(|side| side as u16);
        let mut frame = make_frame(size, &part);
        (frame.left, frame.top) = (left as u16, top as u16);
        frame
    }
}

fn failed(part: &PartFile, error: EncodingError) -> VideoError {
    part.as_error(match error {
        EncodingError::Io(error) => error,
        other => std::io::Error::other(other),
    })
}
