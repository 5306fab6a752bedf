//! Runs the arbiter: events and time in, effects carried out in their order.
//!
//! Two tasks: one steps the arbiter and never waits for a disk; the other carries effects out one after the other,
//! so that everything shown is durable before it is sent. Relayed datagrams do not wait.

use std::sync::Arc;

use clock::Clock;
use protocol::Era;
use protocol::control::Refusal;
use server_core::arbiter::{Arbiter, Effect, Event, RecordWork, Work, Write};
use server_core::language_model::ModelRequest;
use store::StoreError;
use store::persistence::Persistence;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use crate::desk::call::{DeskCall, OrderAnswer};
use crate::disk::{DiskRoom, LOOKS_EACH};
use crate::episode_writer::EpisodeWriters;
use crate::model_client::ModelClient;
use crate::socket::Connections;
use crate::turn_sockets::EpisodeNotifier;
use crate::webhook::EventFeed;

/// Effects that may wait to be carried out.
const EFFECTS: usize = 4_096;

/// An effect or an answer, in the order of their making.
#[allow(clippy::large_enum_variant, reason = "there are few answers")]
enum Todo {
    /// An effect of the arbiter.
    Effect(Effect),
    /// The answer to an order, once the effects before it are carried out.
    Answer(oneshot::Sender<OrderAnswer>, OrderAnswer),
}

/// The parts that carry effects out.
pub struct Executor {
    /// The database.
    pub persistence: Persistence,
    /// The pages.
    pub connections: Arc<Connections>,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Hears of episodes that are over, if there is a TURN server.
    pub notifier: Option<EpisodeNotifier>,
    /// The threads that write the logs of running episodes.
    pub writers: EpisodeWriters,
    /// The client of language models.
    pub models: Arc<ModelClient>,
    /// Reports of the archive, back to the arbiter.
    pub results: mpsc::UnboundedSender<Event>,
    /// The webhook's queue, if there is a webhook.
    pub feed: Option<Arc<EventFeed>>,
    /// Notified when the file of an ended episode is written to no more.
    pub freed: Arc<Notify>,
}

/// Steps the arbiter until [`Event::Stop`]; returns the executor once everything is carried out.
///
/// # Errors
/// The database failed: nothing can be stored any more, so the server stops instead of running without persistence.
pub async fn run(
    mut arbiter: Arbiter,
    clock: Clock,
    mut events: mpsc::Receiver<Event>,
    mut results: mpsc::UnboundedReceiver<Event>,
    executor: Executor,
    waiting_datagrams: usize,
    mut calls: mpsc::Receiver<DeskCall>,
) -> anyhow::Result<()> {
    let connections = Arc::clone(&executor.connections);
    let (effects, todo) = mpsc::channel(EFFECTS);
    let carrying = tokio::spawn(carry_out(executor, todo));
    let mut stop = false;
    // What was due before anybody came: the end of sessions and episodes, and erasures.
    while let Some(effect) = arbiter.poll_effect() {
        stop |= effects.send(Todo::Effect(effect)).await.is_err();
    }
    while !stop {
        let timeout = arbiter.poll_timeout();
        let wake = async {
            match timeout {
                Some((at_us, reason)) => {
                    clock.sleep_until(at_us).await;
                    tracing::trace!(reason, "the arbiter's time has come");
                }
                None => std::future::pending().await,
            }
        };
        let mut answer = None;
        tokio::select! {
            event = events.recv() => {
                let event = event.unwrap_or(Event::Stop);
                stop = matches!(event, Event::Stop);
                arbiter.handle_event(clock.now_us(), event);
            }
            Some(event) = results.recv() => arbiter.handle_event(clock.now_us(), event),
            Some(call) = calls.recv() => answer = handle_call(&mut arbiter, clock.now_us(), call),
            () = wake => arbiter.handle_timeout(clock.now_us()),
        }
        while let Some((conn, message)) = arbiter.poll_relay() {
            connections.relay_message(conn, &message, waiting_datagrams);
        }
        while let Some(effect) = arbiter.poll_effect() {
            stop |= effects.send(Todo::Effect(effect)).await.is_err();
        }
        if let Some(answer) = answer {
            stop |= effects.send(answer).await.is_err();
        }
    }
    drop(effects);
    carrying.await?
}

/// Answers a look of the dashboard, or carries an order out; returns the answer to an order, which waits for its
/// effects.
fn handle_call(arbiter: &mut Arbiter, now_us: u64, call: DeskCall) -> Option<Todo> {
    match call {
        DeskCall::Look(answer) => {
            // Who has gone meanwhile wants no answer.
            let _ = answer.send(Box::new(arbiter.make_overview(now_us)));
            None
        }
        DeskCall::Order { by, order, answer } => {
            let done = arbiter.handle_order(now_us, &by, order);
            Some(Todo::Answer(answer, done))
        }
    }
}

async fn carry_out(mut executor: Executor, mut todo: mpsc::Receiver<Todo>) -> anyhow::Result<()> {
    let mut looks = tokio::time::interval(LOOKS_EACH);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let freed = Arc::clone(&executor.freed);
    loop {
        let todo = tokio::select! {
            todo = todo.recv() => todo,
            () = freed.notified() => {
                say_unerased(executor.persistence.retry_withdrawals().await);
                continue;
            }
            _ = looks.tick(), if executor.persistence.has_erased_log() => {
                say_unerased(executor.persistence.empty_erased_log().await);
                continue;
            }
        };
        let Some(todo) = todo else { break };
        let effect = match todo {
            Todo::Effect(effect) => effect,
            Todo::Answer(answer, done) => {
                let _ = answer.send(done);
                continue;
            }
        };
        match effect {
            Effect::Send(conn, message) => executor.connections.send(conn, &message),
            Effect::Close(conn) => executor.connections.close(conn),
            Effect::Store(write) => {
                if let (Write::EpisodeEnded { episode, .. }, Some(notifier)) =
                    (&write, &executor.notifier)
                {
                    notifier.tell_ended(episode);
                }
                executor.store(&write).await?;
                executor
                    .feed
                    .iter()
                    .for_each(|feed| feed.tell_write(&write));
            }
            Effect::Archive(era, work) => executor.archive(era, work),
            Effect::Ask(era, request) => executor.ask(era, *request),
        }
    }
    executor.feed.iter().for_each(|feed| feed.close());
    let Executor {
        persistence,
        writers,
        ..
    } = executor;
    tokio::task::spawn_blocking(move || writers.finish_work()).await?;
    say_unerased(persistence.retry_withdrawals().await);
    say_unerased(persistence.empty_erased_log().await);
    persistence.close().await;
    Ok(())
}

/// Logs that something could not be erased yet: a later try, or the next start, does it.
fn say_unerased(done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::error!(%error, "what somebody withdrew cannot be erased yet");
    }
}

impl Executor {
    /// Makes a change durable. While the disk is full or fails, it waits, and so does everything after it; pages learn
    /// that they must come back. While another program has the database, it waits as well.
    async fn store(&self, write: &Write) -> Result<(), StoreError> {
        loop {
            let failed = match self.disk.has_room() {
                true => self.write(write.clone()).await.err(),
                false => Some(StoreError::NoRoom),
            };
            let Some(error) = failed else {
                self.disk.release_store();
                return Ok(());
            };
            if error.is_busy() && !self.disk.is_given_up() {
                tracing::warn!(
                    "another program has the database; answers are held back until it is done"
                );
                tokio::time::sleep(LOOKS_EACH).await;
                continue;
            }
            let fault = error.disk_fault().filter(|_| !self.disk.is_given_up());
            let Some(fault) = fault else {
                return Err(error);
            };
            if self.disk.hold_store(fault) {
                self.connections.turn_all_away(Refusal::Stopping);
            }
            tokio::time::sleep(LOOKS_EACH).await;
        }
    }

    async fn write(&self, write: Write) -> Result<(), StoreError> {
        let Write::Correction {
            participant,
            payment,
        } = write
        else {
            return self.persistence.write(write).await;
        };
        let paid = self.persistence.correct_payment(&participant, &payment);
        if let Some(paid) = paid.await? {
            let refused = Event::AlreadyPaid(participant, Box::new(paid));
            // Nobody is there to hear it once the server has stopped.
            let _ = self.results.send(refused);
        }
        Ok(())
    }

    /// Asks a language model beside everything else.
    fn ask(&self, era: Era, request: ModelRequest) {
        let (models, results) = (Arc::clone(&self.models), self.results.clone());
        tokio::spawn(async move {
            let (reply, billed) = models.ask(&request).await;
            // Nobody is there to hear it once the server has stopped.
            if billed > 0 {
                let _ = results.send(Event::Billed(era, request.number, billed));
            }
            let _ = results.send(Event::Answered(era, request.number, reply));
        });
    }

    fn archive(&mut self, era: Era, work: Work) {
        let failed = work.failure_event(era);
        let is_end = matches!(work, Work::Record(RecordWork::End(_)));
        if !self.writers.hand_work(era, work) {
            // The driver's own loop holds the receiving end until this task is done.
            let _ = self.results.send(failed);
        }
        if is_end {
            self.writers.forget(era);
        }
    }
}

#[cfg(test)]
mod tests;
