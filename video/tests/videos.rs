//! Videos of a few states, read again.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use env_core::draw::{DrawList, Shape};
use gif::{ColorOutput, DecodeOptions};
use picture::Renderer;
use video::{VideoError, VideoLook, VideoWriter, WrittenVideo};

const NO_SPRITES: [(&str, &str); 0] = [];
const CELL: u32 = 16;

/// A square on a floor of four by two cells.
fn state(x: f32) -> DrawList {
    let mut list = DrawList::default();
    list.begin(4.0, 2.0, 0xe6d7_bfff);
    let (radius, color) = (0.2, 0x1b7a_4bff);
    list.push(1, [x, 0.5, 1.0, 1.0], Shape::Rect { radius, color });
    list
}

fn write(path: &Path, states_hz: f64, states: &[DrawList]) -> Result<WrittenVideo, VideoError> {
    let look = VideoLook {
        width: 4 * CELL,
        states_hz,
    };
    let mut writer = VideoWriter::new([path.to_owned()], NO_SPRITES, look)?;
    states
        .iter()
        .try_for_each(|state| writer.add_picture(state))?;
    let mut written = writer.finish()?;
    assert_eq!(written.len(), 1);
    Ok(written.remove(0))
}

/// The pictures of a GIF as they are shown, with their times in hundredths of a second.
fn read(path: &Path) -> Vec<(u16, Vec<u8>)> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let mut decoder = options.read_info(File::open(path).unwrap()).unwrap();
    let width = usize::from(decoder.width());
    let mut canvas = vec![0; width * usize::from(decoder.height()) * 3];
    let mut shown = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        for (at, pixel) in frame.buffer.chunks_exact(4).enumerate() {
            let (row, column) = (at / usize::from(frame.width), at % usize::from(frame.width));
            let place = (row + usize::from(frame.top)) * width + column + usize::from(frame.left);
            if pixel[3] == u8::MAX {
                canvas[place * 3..][..3].copy_from_slice(&pixel[..3]);
            }
        }
        shown.push((frame.delay, canvas.clone()));
    }
    shown
}

fn pixels(state: &DrawList) -> Vec<u8> {
    let mut renderer = Renderer::new(NO_SPRITES).unwrap();
    renderer.rgb(state, CELL).unwrap().pixels
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("video.gif")
}

#[test]
fn a_gif_shows_every_state_for_its_time_and_equal_ones_once() {
    let folder = tempfile::tempdir().unwrap();
    let states = [0.0, 1.0, 1.0, 1.0, 2.5, 0.0].map(state);
    let written = write(&file(&folder), 8.0, &states).unwrap();
    let shown = read(&written.path);
    // An eighth of a second is twelve hundredths and a half: the times follow the clock, not one another.
    let expected: Vec<(u16, Vec<u8>)> = [(13, 0), (37, 1), (13, 4), (100, 5)]
        .map(|(delay, at)| (delay, pixels(&states[at])))
        .to_vec();
    assert_eq!(shown.len(), written.frames as usize);
    let times = |of: &[(u16, Vec<u8>)]| of.iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(times(&shown), times(&expected));
    assert!(
        shown == expected,
        "every picture is equal to the last pixel"
    );
    assert_eq!(written.bytes, fs::metadata(&written.path).unwrap().len());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no part is left"
    );
}

#[test]
fn a_fast_gif_leaves_states_out_and_keeps_the_pace() {
    let folder = tempfile::tempdir().unwrap();
    let states: Vec<DrawList> = (0..160_u16)
        .map(|at| state(f32::from(at % 40) * 0.05))
        .collect();
    let written = write(&file(&folder), 160.0, &states).unwrap();
    let shown = read(&written.path);
    let times: u32 = shown.iter().map(|it| u32::from(it.0)).sum();
    assert!(
        (198..=200).contains(&times),
        "one second, and one for the last state: {times}"
    );
    assert!(
        shown.iter().all(|it| it.0 >= 2) && shown.len() <= 51,
        "{} frames",
        shown.len()
    );
    assert!(shown.last().unwrap().1 == pixels(&states[159]));
}

#[test]
fn a_change_costs_its_own_part_of_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let still = write(&file(&folder), 10.0, &vec![state(0.0); 100]).unwrap();
    assert_eq!(still.frames, 1);
    let moving: Vec<DrawList> = (0..100_u16).map(|at| state(f32::from(at % 3))).collect();
    let moved = write(&file(&folder), 10.0, &moving).unwrap();
    assert_eq!(moved.frames, 100);
    let each = (moved.bytes - still.bytes) / 99;
    assert!(each < 400, "{each} bytes a frame");
}

#[test]
fn what_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = write(&folder.path().join("no/video.gif"), 10.0, &[state(0.0)]);
    assert!(nowhere.unwrap_err().to_string().contains("cannot write"));
    let empty = write(&file(&folder), 10.0, &[]);
    assert!(matches!(empty, Err(VideoError::Empty)));
    let mut endless = state(0.0);
    endless.height = f32::NAN;
    let broken = write(&file(&folder), 10.0, &[state(0.0), endless]);
    assert!(matches!(broken, Err(VideoError::Picture(_))));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
