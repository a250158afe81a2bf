//! A channel inside an execution.
//!
//! Touches: a queue under a real mutex, which is never contended and never held across a scheduling
//! point; it is there so that a handle that leaves its execution does no harm.
//! Keeps: messages arrive in the order they were sent in; a receiver that waits is enabled by a
//! message or by the end of the last sender; what a task did before it sent a message happens before
//! what the receiver does with it.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::{Clock, Execution, Place, Request, Wake, current};
use crate::trace::OpKind;

const NOUN: &str = "channel";

/// The receiver waits for a message.
const RECEIVER: u8 = 1;
/// Senders wait for room.
const SENDERS: u8 = 2;
/// Senders of a rendezvous channel wait for the receiver to take their message.
const TAKEN: u8 = 4;

pub(super) struct Channel<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Messages, each with what had happened when it was sent.
    queue: VecDeque<(T, Clock)>,
    bound: Option<usize>,
    senders: usize,
    /// The receiver is gone.
    closed: bool,
    /// The receiver waits.
    wanted: bool,
    /// Messages taken so far: numbers the messages of a rendezvous channel.
    taken: u64,
}

impl<T> State<T> {
    /// A rendezvous channel holds the one message that its sender offers.
    fn is_full(&self) -> bool {
        self.bound.is_some_and(|bound| self.queue.len() >= bound.max(1))
    }
}

impl<T> Channel<T> {
    pub(super) fn new(bound: Option<usize>) -> Self {
        let queue = VecDeque::new();
        let state = State { queue, bound, senders: 1, closed: false, wanted: false, taken: 0 };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The execution, after a scheduling point; `None` where the destructor of a static calls.
    fn enter(&self, kind: OpKind, place: Place) -> Option<&'static Execution> {
        let execution = current()?;
        if execution.enter(kind, self.object(), NOUN, place) {
            execution.record_operation(kind, self.object(), None, None, place);
        }
        Some(execution)
    }

    /// The calling task waits in `class`. False if it must not: it unwinds, or is in no execution.
    fn wait(
        &self,
        execution: Option<&Execution>,
        kind: OpKind,
        class: u8,
        deadline_ns: Option<u64>,
        place: Place,
    ) -> Option<Wake> {
        let execution = execution.filter(|execution| !execution.is_unwinding())?;
        let request = Request { kind, object: self.object(), class, deadline_ns, sleeps: true };
        Some(execution.wait(request, place))
    }

    /// `classes` of waiters can go on, and loops that poll have something to see.
    fn changed(&self, execution: Option<&Execution>, classes: u8) {
        if let Some(execution) = execution {
            execution.enable(self.object(), classes);
            execution.changed(self.object(), 0, 1);
        }
    }

    /// The address that stands for what receivers did before they made room, or went.
    fn made_room(&self) -> usize {
        self.object() + 1
    }

    /// The address that stands for what senders did before they went.
    fn ended(&self) -> usize {
        self.object() + 2
    }

    fn publish(&self, execution: Option<&Execution>, object: usize) {
        if let Some(execution) = execution {
            execution.publish(object);
        }
    }

    fn acquire(&self, execution: Option<&Execution>, holds: bool, object: usize) {
        if let Some(execution) = execution.filter(|_| holds) {
            execution.acquire(object);
        }
    }

    pub(super) fn send(&self, message: T, place: Place) -> Result<(), SendError<T>> {
        let execution = self.enter(OpKind::Send, place);
        loop {
            let state = self.state();
            if state.closed {
                drop(state);
                self.acquire(execution, true, self.made_room());
                return Err(SendError(message));
            }
            if !state.is_full() {
                self.acquire(execution, state.bound.is_some(), self.made_room());
                return self.put(execution, state, message, place);
            }
            drop(state);
            if self.wait(execution, OpKind::Send, SENDERS, None, place).is_none() {
                return Err(SendError(message));
            }
        }
    }

    pub(super) fn try_send(&self, message: T, place: Place) -> Result<(), TrySendError<T>> {
        let execution = self.enter(OpKind::Send, place);
        let mut state = self.state();
        let nobody_takes = state.bound == Some(0) && !state.wanted;
        if state.closed {
            Err(TrySendError::Disconnected(message))
        } else if state.is_full() || nobody_takes {
            Err(TrySendError::Full(message))
        } else {
            state.queue.push_back((message, clock(execution)));
            drop(state);
            self.changed(execution, RECEIVER);
            Ok(())
        }
    }

    /// Puts a message where there is room for it. In a rendezvous channel waits until it is taken.
    fn put(
        &self,
        execution: Option<&Execution>,
        mut state: MutexGuard<'_, State<T>>,
        message: T,
        place: Place,
    ) -> Result<(), SendError<T>> {
        state.queue.push_back((message, clock(execution)));
        let (full, rendezvous, number) = (state.is_full(), state.bound == Some(0), state.taken);
        drop(state);
        if full && let Some(execution) = execution {
            execution.disable(self.object(), SENDERS);
        }
        self.changed(execution, RECEIVER);
        if !rendezvous {
            return Ok(());
        }
        loop {
            let mut state = self.state();
            if state.taken != number {
                drop(state);
                self.acquire(execution, true, self.made_room());
                break;
            }
            if state.closed
                && let Some((message, _)) = state.queue.pop_front()
            {
                return Err(SendError(message));
            }
            drop(state);
            if self.wait(execution, OpKind::Send, TAKEN, None, place).is_none() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn try_receive(&self, place: Place) -> Result<T, TryRecvError> {
        let execution = self.enter(OpKind::Receive, place);
        self.take(execution)
    }

    fn take(&self, execution: Option<&Execution>) -> Result<T, TryRecvError> {
        let mut state = self.state();
        let Some((message, sent)) = state.queue.pop_front() else {
            let disconnected = state.senders == 0;
            drop(state);
            self.acquire(execution, disconnected, self.ended());
            return Err(if disconnected {
                TryRecvError::Disconnected
            } else {
                TryRecvError::Empty
            });
        };
        state.taken += 1;
        let bounded = state.bound.is_some();
        drop(state);
        if let Some(execution) = execution {
            execution.acquire_clock(&sent);
        }
        if bounded {
            self.publish(execution, self.made_room());
            self.changed(execution, SENDERS | TAKEN);
        }
        Ok(message)
    }

    /// Receives, or says why not: nobody is left to send, or the time is over.
    pub(super) fn receive(
        &self,
        timeout: Option<std::time::Duration>,
        place: Place,
    ) -> Result<T, RecvTimeoutError> {
        let execution = self.enter(OpKind::Receive, place);
        let deadline =
            timeout.and_then(|timeout| execution.and_then(|execution| execution.deadline(timeout)));
        let mut timed_out = false;
        loop {
            match self.take(execution) {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if timed_out => return Err(RecvTimeoutError::Timeout),
                Err(TryRecvError::Empty) => {}
            }
            self.state().wanted = true;
            let waited = self.wait(execution, OpKind::Receive, RECEIVER, deadline, place);
            self.state().wanted = false;
            match waited {
                Some(wake) => timed_out = wake == Wake::TimedOut,
                None if current().is_none() => {
                    panic!("the receiver of an execution waits for a message outside of it")
                }
                None => return Err(RecvTimeoutError::Disconnected),
            }
        }
    }

    pub(super) fn add_sender(&self) {
        self.state().senders += 1;
    }

    /// A sender is gone. If it was the last, that is something to see.
    pub(super) fn remove_sender(&self, place: Place) {
        self.publish(current(), self.ended());
        if self.state().senders > 1 {
            self.state().senders -= 1;
            return;
        }
        let execution = self.enter(OpKind::Send, place);
        // While this task stood at its scheduling point, nobody could clone the last sender.
        self.state().senders -= 1;
        self.changed(execution, RECEIVER);
    }

    /// The receiver is gone, and so are the messages nobody will receive.
    pub(super) fn close(&self, place: Place) {
        let execution = self.enter(OpKind::Receive, place);
        let mut state = self.state();
        state.closed = true;
        self.publish(execution, self.made_room());
        // Who waits for its message to be taken gets it back.
        let keeps = state.bound == Some(0);
        let messages = if keeps { VecDeque::new() } else { std::mem::take(&mut state.queue) };
        drop(state);
        self.changed(execution, SENDERS | TAKEN);
        drop(messages);
    }
}

/// What has happened by now, for a message.
fn clock(execution: Option<&Execution>) -> Clock {
    execution.map_or_else(Clock::default, Execution::message_clock)
}
