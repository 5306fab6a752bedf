//! The limits of a study: how large its files, texts, forms and timelines may be.
//!
//! This module must not know of what it limits; readers and checks import the limits only from here.

/// Size of the study file, bytes.
pub(crate) const MAX_FILE: usize = 1024 * 1024;

/// Size of a Markdown file, bytes.
pub(crate) const MAX_PAGE: u64 = 64 * 1024;

/// Size of a picture, bytes.
pub(crate) const MAX_PICTURE: u64 = 8 * 1024 * 1024;

/// Size of a video, bytes.
pub(crate) const MAX_VIDEO: u64 = 64 * 1024 * 1024;

/// Size of an ONNX model, bytes; the reader of the host has the same bound.
pub(crate) const MAX_MODEL: u64 = 32 << 20;

/// Size of the transcript of a language model, bytes.
pub(crate) const MAX_TRANSCRIPT: u64 = 1 << 20;

/// Size of the file of a grid world, bytes.
pub(crate) const MAX_WORLD: u64 = 256 * 1024;

/// Size of an environment module, bytes; `module::ModuleLimits` of the host has the same bound.
pub(crate) const MAX_MODULE: u64 = 16 << 20;

/// Size of a stage's view, bytes, so that it fits a message.
pub(crate) const MAX_VIEW: usize = protocol::control::MAX_MESSAGE - 4096;

/// Languages of a study.
pub(crate) const MAX_LANGUAGES: usize = 40;

/// Measures of `adherence`.
pub(crate) const MAX_ADHERENCE: usize = 8;

/// Rules of `exclusions`.
pub(crate) const MAX_EXCLUSIONS: usize = 40;

/// Stages of a study.
pub(crate) const MAX_STAGES: usize = 200;

/// Blocks in each other.
pub(crate) const MAX_DEPTH: usize = 8;

/// Visits of a route.
pub const MAX_VISITS: usize = 2_000;

/// Combinations of levels in which an env stage can be played.
pub(crate) const MAX_COMBINATIONS: usize = 1_000;

/// Factors of a kind.
pub(crate) const MAX_FACTORS: usize = 8;

/// Levels of a factor: with a single one nothing would vary.
pub(crate) const MIN_LEVELS: usize = 2;

/// Levels of a factor.
pub(crate) const MAX_LEVELS: usize = 64;

/// Partners that a study names.
pub(crate) const MAX_PARTNERS: usize = 200;

/// Treatments of a design.
pub(crate) const MAX_TREATMENTS: usize = 1_000;

/// Units of a quota.
pub(crate) const MAX_QUOTA: u32 = 1_000_000;

/// Seats of an episode.
#[allow(clippy::cast_possible_truncation, reason = "16")]
pub(crate) const MAX_SEATS: u8 = protocol::MAX_SEATS as u8;

/// Ticks of an episode of AI partners that is watched: an hour at ten ticks a second.
pub(crate) const MAX_CLIP_TICKS: u32 = 36_000;

/// Episodes of a stage.
pub(crate) const MAX_EPISODES: u16 = 1_000;

/// Ticks of window and input delay together: as many inputs as a page keeps for sending again.
#[allow(clippy::cast_possible_truncation, reason = "40")]
pub(crate) const MAX_SPECULATION: u8 = protocol::datagram::MAX_INPUTS as u8;

/// Keys of a chord.
pub(crate) const MAX_CHORD: usize = 3;

/// Spans that are marked in a replay.
pub(crate) const MAX_MARKS: u8 = 30;

/// Length of the text about a span, characters: all of them fit one answer.
pub(crate) const MAX_MARK_LENGTH: usize = 400;

/// Length of a chat message that a study can allow, characters.
pub const MAX_CHAT_LENGTH: u16 = 2_000;

/// Questions of a quiz, and choices of one of them.
pub(crate) const MAX_QUIZ_ITEMS: usize = 50;

/// Choices of a quiz question: with a single one nobody could be wrong.
pub(crate) const MIN_QUIZ_CHOICES: usize = 2;

/// Steps of a slider.
pub(crate) const MAX_SLIDER_STEPS: f64 = 10_000.0;

/// A number that a page can have measured.
pub(crate) const MAX_MEASURED: f64 = 1e6;

/// An amount in the study file, in units of its currency.
pub(crate) const MAX_MONEY: f64 = 100_000.0;

/// An amount that is paid, in units of its currency.
pub(crate) const MAX_AMOUNT: f64 = 1_000_000.0;
