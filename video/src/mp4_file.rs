//! An MP4 with H.264, as `ffmpeg` encodes it from raw pixels.

use std::env;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::part_file::PartFile;
use crate::{VideoError, WrittenVideo};

/// The environment variable that names the program `ffmpeg`, where it is not in `PATH`.
pub const FFMPEG: &str = "COPLAY_FFMPEG";
/// Frames a second: players are made for these.
const LEAST_HZ: f64 = 10.0;
const MOST_HZ: f64 = 60.0;
/// Even sides, which H.264 needs, and the colours of today's screens.
const FILTERS: &str = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,\
     setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709";

/// An MP4 on its way.
#[derive(Debug)]
pub(crate) struct Mp4File {
    encoder: Encoder,
    states_hz: f64,
    frames_hz: f64,
    frames: u32,
    part: PartFile,
}

/// The running program; it is ended when nobody waits for it.
#[derive(Debug)]
struct Encoder {
    child: Child,
    /// The pipe for raw pixels; `None` once all are written.
    input: Option<ChildStdin>,
}

impl Mp4File {
    pub(crate) fn create(
        path: &Path,
        [width, height]: [u32; 2],
        states_hz: f64,
    ) -> Result<Self, VideoError> {
        let part = PartFile::beside_file(path);
        let frames_hz = frames_hz(states_hz);
        let program = env::var(FFMPEG).unwrap_or_else(|_| "ffmpeg".into());
        let mut command = Command::new(&program);
        command
            .args(["-v", "error", "-f", "rawvideo", "-pixel_format", "rgb24"])
            .args(["-video_size", &format!("{width}x{height}")])
            .args(["-framerate", &frames_hz.to_string(), "-i", "pipe:0", "-an"])
            .args(["-vf", FILTERS])
            .args(["-movflags", "+faststart", "-f", "mp4", "-y"])
            .arg(part.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| VideoError::NoFfmpeg { program, error })?;
        Ok(Self {
            encoder: Encoder {
                input: child.stdin.take(),
                child,
            },
            states_hz,
            frames_hz,
            frames: 0,
            part,
        })
    }

    /// Adds a state, whose pixels have the size of the MP4; `index` counts states from 0.
    pub(crate) fn add(&mut self, index: u32, pixels: &[u8]) -> Result<(), VideoError> {
        let until = f64::from(index + 1) * self.frames_hz / self.states_hz;
        // The first state is shown, however fast the video is.
        let until = (until.round() as u32).max(u32::from(index == 0));
        for _ in self.frames..until {
            let written = self
                .encoder
                .input
                .as_mut()
                .map(|input| input.write_all(pixels));
            if !matches!(written, Some(Ok(()))) {
                return Err(VideoError::Ffmpeg(self.encoder.tell_fault()));
            }
            self.frames += 1;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<WrittenVideo, VideoError> {
        drop(self.encoder.input.take());
        let ended = self.encoder.child.wait();
        if !ended.is_ok_and(|status| status.success()) {
            return Err(VideoError::Ffmpeg(self.encoder.tell_fault()));
        }
        let path = self.part.place().to_owned();
        let bytes = self.part.finish()?;
        Ok(WrittenVideo {
            path,
            frames: self.frames,
            bytes,
        })
    }
}

impl Encoder {
    /// The last line that the program said; it is over then.
    fn tell_fault(&mut self) -> String {
        drop(self.input.take());
        let mut said = String::new();
        if let Some(mut output) = self.child.stderr.take() {
            // Output that is not text is useless for people.
            let _ = output.read_to_string(&mut said);
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        last.unwrap_or("it ended without a reason")
            .trim()
            .to_owned()
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // After it ended, both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Frames a second of a video: a whole number for each state of slow ones, and less than one for very fast ones.
fn frames_hz(states_hz: f64) -> f64 {
    match states_hz {
        slow if slow < LEAST_HZ => slow * (LEAST_HZ / slow).ceil(),
        fast => fast.min(MOST_HZ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_video_has_the_frames_that_players_are_made_for() {
        assert_eq!(frames_hz(10.0), 10.0);
        assert_eq!(frames_hz(2.5), 10.0);
        assert_eq!(frames_hz(4.0), 12.0);
        assert_eq!(frames_hz(30.0), 30.0);
        assert_eq!(frames_hz(160.0), 60.0);
    }
}
