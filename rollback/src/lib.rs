//! rollback
