//! The waiting room.
