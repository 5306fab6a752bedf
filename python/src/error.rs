//! Errors of the crates as Python's own.

use std::fmt::Display;

use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

use crate::engine::Refused;

/// A `ValueError` with the words of an error.
pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A `RuntimeError` for a module that broke down.
pub(crate) fn stopped(fault: impl Display) -> PyErr {
    PyRuntimeError::new_err(format!("the module was stopped: {fault}"))
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Call(why) => value(why),
            Refused::Module { instance, fault } => {
                stopped(format_args!("instance {instance}: {fault}"))
            }
        }
    }
}
