//! The bounded queue in front of the engine: refuses when full, forgets those who have gone.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::GeneratedSample,
};
use tokio::sync::oneshot;

use super::Question;

/// A question and where its answer goes.
pub(super) struct Pending {
    pub(super) question: Question,
    pub(super) reply: oneshot::Sender<Result<Vec<GeneratedSample>, Fault>>,
}

impl Pending {
    fn gone(&self, now: Instant) -> bool {
        self.reply.is_closed() || self.question.deadline <= now
    }

    fn refuse_if_late(self, now: Instant) {
        if self.question.deadline <= now {
            // The asker may have gone, too.
            drop(self.reply.send(Err(deadline_exceeded("in the queue"))));
        }
    }
}

pub(super) fn deadline_exceeded(place: &str) -> Fault {
    Fault::new(
        FaultCode::DeadlineExceeded,
        format!("the deadline passed {place}"),
    )
}

/// What [`Queue::take`] found.
pub(super) enum Taken {
    /// Every handle was dropped.
    Closed,
    /// Questions to admit, perhaps none, and how many still wait.
    Questions { questions: Vec<Pending>, waiting: usize },
}

pub(super) struct Queue {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    closed: bool,
}

impl Queue {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Appends `pending`, or says `busy` when `limit` questions wait already.
    pub(super) fn push(&self, pending: Pending) -> Result<(), Fault> {
        let mut state = self.lock();
        if state.waiting.len() >= self.limit {
            state.forget_gone(Instant::now());
        }
        if state.waiting.len() >= self.limit {
            let message = format!(
                "`{}` requests wait already, the most allowed (`engine.max_waiting`)",
                self.limit
            );
            return Err(Fault::new(FaultCode::Busy, message));
        }
        state.waiting.push_back(pending);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes questions in order until `room` samples are wanted; waits for one when `idle`.
    pub(super) fn take(&self, room: usize, idle: bool) -> Taken {
        let mut state = self.lock();
        while idle && state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Taken::Closed;
        }
        state.forget_gone(Instant::now());
        let (mut questions, mut wanted) = (Vec::new(), 0);
        while wanted < room
            && let Some(pending) = state.waiting.pop_front()
        {
            wanted += pending.question.n as usize;
            questions.push(pending);
        }
        Taken::Questions {
            questions,
            waiting: state.waiting.len(),
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the queue whole: no step of ours can stop half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_gone(&mut self, now: Instant) {
        if self.waiting.iter().any(|pending| pending.gone(now)) {
            let (gone, stay) = self
                .waiting
                .drain(..)
                .partition::<Vec<_>, _>(|pending| pending.gone(now));
            self.waiting = stay.into();
            gone.into_iter().for_each(|pending| pending.refuse_if_late(now));
        }
    }
}
