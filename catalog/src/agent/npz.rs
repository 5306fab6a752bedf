//! Arrays of NumPy in a `.npz` file.
//!
//! Source: the NumPy format, versions 1.0 to 3.0: a ZIP archive with one `.npy` for each array.

use std::io::{Cursor, Read as _};

use anyhow::{Context as _, bail};

/// The most bytes of an array.
const MAX_ARRAY: u64 = 1 << 30;

/// An array of numbers, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

/// The arrays of a file.
pub(super) struct Arrays(zip::ZipArchive<Cursor<Vec<u8>>>);

impl Arrays {
    pub(super) fn open(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let archive = zip::ZipArchive::new(Cursor::new(bytes));
        Ok(Self(archive.context(
            "it is no .npz file; write it with numpy.savez_compressed",
        )?))
    }

    pub(super) fn names(&self) -> Vec<String> {
        let names = self.0.file_names();
        names
            .map(|name| name.trim_end_matches(".npy").to_owned())
            .collect()
    }

    /// The array of this name, if it is there.
    pub(super) fn read_numbers(&mut self, name: &str) -> anyhow::Result<Option<Array>> {
        let Some(bytes) = self.bytes(name)? else {
            return Ok(None);
        };
        let (kind, shape, data) = header(&bytes).with_context(|| format!("`{name}`"))?;
        let count = shape.iter().product::<usize>();
        let values = numbers(&kind, data).with_context(|| format!("`{name}`"))?;
        if values.len() != count {
            bail!(
                "`{name}` has {} values in the shape {shape:?}",
                values.len()
            );
        }
        Ok(Some(Array { shape, values }))
    }

    /// The text of this name, if it is there: of an array of characters, or of its bytes.
    pub(super) fn text(&mut self, name: &str) -> anyhow::Result<Option<String>> {
        let Some(bytes) = self.bytes(name)? else {
            return Ok(None);
        };
        let (kind, _, data) = header(&bytes).with_context(|| format!("`{name}`"))?;
        let text = match kind.get(1..2) {
            Some("U") => {
                let letters = data
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|it| u32::from_le_bytes(*it));
                letters
                    .filter(|it| *it != 0)
                    .filter_map(char::from_u32)
                    .collect()
            }
            _ => String::from_utf8_lossy(data)
                .trim_end_matches('\0')
                .to_owned(),
        };
        Ok(Some(text))
    }

    fn bytes(&mut self, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let Ok(file) = self.0.by_name(&format!("{name}.npy")) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let read = file.take(MAX_ARRAY + 1).read_to_end(&mut bytes);
        read.with_context(|| format!("cannot read `{name}`"))?;
        if bytes.len() as u64 > MAX_ARRAY {
            bail!("`{name}` has more than {MAX_ARRAY} bytes; record fewer steps");
        }
        Ok(Some(bytes))
    }
}

/// The kind of numbers, the shape, and the bytes of an array.
fn header(bytes: &[u8]) -> anyhow::Result<(String, Vec<usize>, &[u8])> {
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .context("it is no array of NumPy")?;
    let (start, len) = match *rest {
        [1, _, a, b, ..] => (4, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, _, a, b, c, d, ..] => (6, u32::from_le_bytes([a, b, c, d]) as usize),
        _ => bail!("it has an unknown version"),
    };
    let text = rest.get(start..start + len).context("it is cut")?;
    let text = String::from_utf8_lossy(text);
    let after = |key: &str| {
        text.split_once(key)
            .map(|(_, rest)| rest.trim_start_matches([':', ' ']))
    };
    let kind = after("'descr'").and_then(|it| it.strip_prefix('\''));
    let kind = kind.and_then(|it| it.split('\'').next());
    let kind = kind.context("it has several kinds of numbers, and one is needed")?;
    if after("'fortran_order'").is_some_and(|it| it.starts_with("True")) {
        bail!("it is stored by columns; write numpy.ascontiguousarray(array)");
    }
    let shape = after("'shape'").and_then(|it| it.strip_prefix('(')?.split(')').next());
    let shape = shape.context("it has no shape")?.split(',').map(str::trim);
    let shape = shape
        .filter(|it| !it.is_empty())
        .map(str::parse::<usize>)
        .collect::<Result<_, _>>()?;
    Ok((kind.to_owned(), shape, &rest[start + len..]))
}

fn numbers(kind: &str, data: &[u8]) -> anyhow::Result<Vec<f64>> {
    fn each<const N: usize>(data: &[u8], of: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        data.as_chunks::<N>().0.iter().map(|it| of(*it)).collect()
    }
    Ok(match kind {
        "<f4" => each(data, |it| f64::from(f32::from_le_bytes(it))),
        "<f8" => each(data, f64::from_le_bytes),
        "|b1" | "|u1" => each(data, |[it]| f64::from(it)),
        "|i1" => each(data, |[it]| f64::from(it as i8)),
        "<u2" => each(data, |it| f64::from(u16::from_le_bytes(it))),
        "<i2" => each(data, |it| f64::from(i16::from_le_bytes(it))),
        "<u4" => each(data, |it| f64::from(u32::from_le_bytes(it))),
        "<i4" => each(data, |it| f64::from(i32::from_le_bytes(it))),
        "<u8" => each(data, |it| u64::from_le_bytes(it) as f64),
        "<i8" => each(data, |it| i64::from_le_bytes(it) as f64),
        other => bail!("numbers of the kind `{other}`; write it as float32 or as whole numbers"),
    })
}
