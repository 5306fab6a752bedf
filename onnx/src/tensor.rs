//! Tensors that are known before anything is played: weights, shapes, places.

use policy::network::MAX_VALUES;

use crate::proto;

/// A tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub shape: Vec<usize>,
    pub data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
}

/// Number of values of a shape.
pub(crate) fn count(shape: &[usize]) -> Result<usize, String> {
    let product = (shape.iter()).try_fold(1_u64, |all, len| all.checked_mul(*len as u64));
    match product.filter(|product| (1..=MAX_VALUES).contains(product)) {
        Some(product) => Ok(product as usize),
        None => Err(format!(
            "a tensor of shape {shape:?}; at most {MAX_VALUES} values can be, and at least one"
        )),
    }
}

/// The distance of neighbours along each axis.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// The places of a tensor of this shape in another: `offset`, and along each axis so far a step.
pub(crate) fn places(
    shape: &[usize],
    steps: &[isize],
    offset: usize,
) -> Result<Vec<usize>, String> {
    let mut places = vec![offset];
    for (len, step) in shape.iter().zip(steps) {
        count(&[places.len(), *len])?;
        let along =
            |place: usize| (0..*len).map(move |k| place.wrapping_add_signed(step * k as isize));
        places = places.into_iter().flat_map(along).collect();
    }
    Ok(places)
}

impl Tensor {
    /// Whole numbers in a row.
    pub(crate) fn ints(values: Vec<i64>) -> Self {
        Self {
            shape: vec![values.len()],
            data: Data::Ints(values),
        }
    }

    /// Reads a tensor of a model.
    pub(crate) fn read(tensor: &proto::Tensor) -> Result<Self, String> {
        if tensor.location != 0 {
            return Err("its values lie in a file beside the model; export them into it (`external_data=False` in PyTorch)".into());
        }
        let dim = |dim: &i64| usize::try_from(*dim).map_err(|_| "a size below 0".to_owned());
        let shape: Vec<usize> = tensor.dims.iter().map(dim).collect::<Result<_, _>>()?;
        let data = data(tensor)?;
        let tensor = Self { shape, data };
        match tensor.shape.contains(&0) || count(&tensor.shape)? == tensor.len() {
            true => Ok(tensor),
            false => Err(format!(
                "{} values in a tensor of shape {:?}",
                tensor.len(),
                tensor.shape
            )),
        }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match &self.data {
            Data::Floats(values) => values.len(),
            Data::Ints(values) => values.len(),
        }
    }

    /// The values as they are calculated with.
    pub(crate) fn floats(&self) -> Vec<f32> {
        match &self.data {
            Data::Floats(values) => values.clone(),
            Data::Ints(values) => values.iter().map(|value| *value as f32).collect(),
        }
    }

    /// The values as places, sizes and axes.
    pub(crate) fn whole(&self) -> Result<&[i64], String> {
        match &self.data {
            Data::Ints(values) => Ok(values),
            Data::Floats(_) => Err("numbers with fractions where whole ones belong".into()),
        }
    }

    /// The tensor of another shape that has these values.
    pub(crate) fn pick_values(&self, shape: Vec<usize>, places: &[usize]) -> Self {
        let data = match &self.data {
            Data::Floats(values) => Data::Floats(places.iter().map(|at| values[*at]).collect()),
            Data::Ints(values) => Data::Ints(places.iter().map(|at| values[*at]).collect()),
        };
        Self { shape, data }
    }
}

fn data(tensor: &proto::Tensor) -> Result<Data, String> {
    let raw = &tensor.raw;
    // Source: TensorProto.DataType.
    Ok(match tensor.data_type {
        1 if raw.is_empty() => Data::Floats(tensor.floats.clone()),
        1 => Data::Floats(words(raw)?.into_iter().map(f32::from_le_bytes).collect()),
        6 if raw.is_empty() => Data::Ints(tensor.ints32.iter().map(|it| i64::from(*it)).collect()),
        6 => {
            let all = words(raw)?.into_iter().map(i32::from_le_bytes);
            Data::Ints(all.map(i64::from).collect())
        }
        7 if raw.is_empty() => Data::Ints(tensor.ints64.clone()),
        7 => Data::Ints(words(raw)?.into_iter().map(i64::from_le_bytes).collect()),
        9 if raw.is_empty() => Data::Ints(tensor.ints32.iter().map(|it| i64::from(*it)).collect()),
        9 => Data::Ints(raw.iter().map(|it| i64::from(*it)).collect()),
        11 if raw.is_empty() => Data::Floats(tensor.doubles.iter().map(|it| *it as f32).collect()),
        11 => {
            let all = words(raw)?.into_iter().map(f64::from_le_bytes);
            Data::Floats(all.map(|it| it as f32).collect())
        }
        kind => {
            return Err(format!(
                "numbers of type {kind}; export the policy in float32, not quantised"
            ));
        }
    })
}

fn words<const N: usize>(raw: &[u8]) -> Result<Vec<[u8; N]>, String> {
    let (words, rest) = raw.as_chunks::<N>();
    match rest {
        [] => Ok(words.to_vec()),
        _ => Err(format!("{} bytes where words of {N} belong", raw.len())),
    }
}
