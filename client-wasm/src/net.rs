//! The connections of this page: to the server, and to the other people of an episode.

pub(crate) mod peers;
pub(crate) mod server_socket;
