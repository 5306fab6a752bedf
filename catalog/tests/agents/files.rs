//! Files as NumPy and ONNX write them.

use std::io::Write as _;
use std::path::Path;

/// An array in the format of NumPy.
pub(crate) fn npy(kind: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|it| format!("{it}, ")).collect();
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A text in the format of NumPy.
pub(crate) fn npy_text(text: &str) -> Vec<u8> {
    npy(&format!("|S{}", text.len()), &[], text.as_bytes())
}

/// Whole numbers in the format of NumPy.
pub(crate) fn npy_whole(shape: &[usize], values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
    npy("<i8", shape, &bytes)
}

/// Numbers in the format of NumPy.
pub(crate) fn npy_floats(shape: &[usize], values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
    npy("<f4", shape, &bytes)
}

/// Writes arrays as `numpy.savez` does, or as `numpy.savez_compressed`.
pub(crate) fn write_npz(path: &Path, arrays: &[(&str, Vec<u8>)], is_compressed: bool) {
    let mut file = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let method = match is_compressed {
        true => zip::CompressionMethod::Deflated,
        false => zip::CompressionMethod::Stored,
    };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in arrays {
        file.start_file(format!("{name}.npy"), options).unwrap();
        file.write_all(bytes).unwrap();
    }
    file.finish().unwrap();
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of a protocol buffer with bytes.
fn part(tag: usize, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let (mut out, bytes) = (Vec::new(), bytes.as_ref());
    varint(tag << 3 | 2, &mut out);
    varint(bytes.len(), &mut out);
    out.extend(bytes);
    out
}

/// A field of a protocol buffer with a whole number.
fn whole(tag: usize, value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    varint(tag << 3, &mut out);
    varint(value, &mut out);
    out
}

/// An input or an output of a model, of floats.
fn value_info(name: &str, shape: &[usize]) -> Vec<u8> {
    let sides = shape.iter().flat_map(|side| part(1, whole(1, *side)));
    let sides: Vec<u8> = sides.collect();
    let tensor = [whole(1, 1), part(2, sides)].concat();
    [part(1, name), part(2, part(1, tensor))].concat()
}

/// A model in the format of ONNX that takes observations of this shape, and adds them up for each of six actions with
/// other weights.
pub(crate) fn model(shape: &[usize]) -> Vec<u8> {
    let len: usize = shape.iter().product();
    let weights = (0..len * 6).map(|at| (at * 7 % 31) as f32 / 31.0 - 0.5);
    let weights: Vec<u8> = weights.flat_map(f32::to_le_bytes).collect();
    let node = |inputs: &[&str], output: &str, kind: &str| {
        let inputs: Vec<u8> = inputs.iter().flat_map(|name| part(1, name)).collect();
        part(1, [inputs, part(2, output), part(4, kind)].concat())
    };
    let weights = [
        whole(1, len),
        whole(1, 6),
        whole(2, 1),
        part(8, "w"),
        part(9, weights),
    ];
    let graph = [
        node(&["obs"], "flat", "Flatten"),
        node(&["flat", "w"], "logits", "MatMul"),
        part(2, "g"),
        part(5, weights.concat()),
        part(11, value_info("obs", &[&[1], shape].concat())),
        part(12, value_info("logits", &[1, 6])),
    ];
    let opset = [part(1, ""), whole(2, 17)].concat();
    [whole(1, 8), part(7, graph.concat()), part(8, opset)].concat()
}
