//! A video of the states of a world.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use video::{VideoLook, VideoWriter};

use crate::error::value;
use crate::world::World;

/// A video on its way: a GIF or an MP4.
#[pyclass(module = "coplay._coplay")]
pub(crate) struct Video {
    /// None once it is finished.
    writer: Mutex<Option<VideoWriter>>,
}

impl Video {
    fn writer(&mut self) -> &mut Option<VideoWriter> {
        self.writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Video {
    #[new]
    fn new(path: PathBuf, world: PyRef<'_, World>, width: u32, states_hz: f64) -> PyResult<Self> {
        let look = VideoLook { width, states_hz };
        let sprites = world.sprites();
        let sprites = sprites.iter().map(|sprite| (&sprite.name, &sprite.svg));
        let writer = VideoWriter::new([path], sprites, look).map_err(value)?;
        Ok(Self {
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Adds the state of a world, as a seat sees it, or all of it.
    #[pyo3(signature = (world, seat=None))]
    fn add(&mut self, mut world: PyRefMut<'_, World>, seat: Option<usize>) -> PyResult<()> {
        let list = world.draw_list(seat)?;
        let writer = self.writer().as_mut();
        let writer = writer.ok_or_else(|| value("the video is finished"))?;
        writer.add_picture(&list).map_err(value)
    }

    /// Completes the file, and gives the number of frames and of bytes.
    fn finish(&mut self) -> PyResult<(u32, u64)> {
        let writer = self.writer().take();
        let writer = writer.ok_or_else(|| value("the video is finished"))?;
        let written = writer.finish().map_err(value)?;
        Ok((written[0].frames, written[0].bytes))
    }
}
