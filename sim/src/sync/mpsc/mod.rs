//! `std::sync::mpsc`.
//!
//! A channel that is made in an execution belongs to it; one that is made outside is the real one.
//! Inside an execution sending and receiving are scheduling points, and so is the end of the
//! receiver or of the last sender.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc as real;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::core::{Place, current};

mod channel;
mod iter;

use channel::Channel;
pub use iter::{IntoIter, Iter, TryIter};

/// A handle of a real channel, or of one of an execution.
enum Side<R, T> {
    Real(R),
    Simulated(Arc<Channel<T>>),
}

/// As `std::sync::mpsc::channel`.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if current().is_none() {
        let (sender, receiver) = real::channel();
        return (Sender(Side::Real(sender)), Receiver(Side::Real(receiver)));
    }
    let channel = Arc::new(Channel::new(None));
    (Sender(Side::Simulated(channel.clone())), Receiver(Side::Simulated(channel)))
}

/// As `std::sync::mpsc::sync_channel`: a bound of 0 makes sender and receiver meet.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if current().is_none() {
        let (sender, receiver) = real::sync_channel(bound);
        return (SyncSender(Side::Real(sender)), Receiver(Side::Real(receiver)));
    }
    let channel = Arc::new(Channel::new(Some(bound)));
    (SyncSender(Side::Simulated(channel.clone())), Receiver(Side::Simulated(channel)))
}

/// As `std::sync::mpsc::Sender`.
pub struct Sender<T>(Side<real::Sender<T>, T>);

/// As `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T>(Side<real::SyncSender<T>, T>);

/// As `std::sync::mpsc::Receiver`.
pub struct Receiver<T>(Side<real::Receiver<T>, T>);

impl<T> Sender<T> {
    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Side::Real(sender) => sender.send(message),
            Side::Simulated(channel) => channel.send(message, Location::caller()),
        }
    }
}

impl<T> SyncSender<T> {
    /// As in `std`. A scheduling point; waits for room.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Side::Simulated(channel) => channel.send(message, Location::caller()),
            Side::Real(sender) if current().is_none() => sender.send(message),
            Side::Real(sender) => match sender.try_send(message) {
                Ok(()) => Ok(()),
                Err(TrySendError::Disconnected(message)) => Err(SendError(message)),
                Err(TrySendError::Full(_)) => would_block(),
            },
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone or there is no room.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Side::Real(sender) => sender.try_send(message),
            Side::Simulated(channel) => channel.try_send(message, Location::caller()),
        }
    }
}

/// A task must not block its OS thread, which runs all the others as well.
#[cold]
#[track_caller]
fn would_block() -> ! {
    panic!(
        "a task waits on a channel that was made outside of executions: make it in the execution"
    )
}

impl<T> Receiver<T> {
    /// As in `std`. A scheduling point; waits for a message.
    ///
    /// # Errors
    ///
    /// An error if there is no message and no sender left.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            Side::Simulated(channel) => {
                channel.receive(None, Location::caller()).map_err(|_| RecvError)
            }
            Side::Real(receiver) if current().is_none() => receiver.recv(),
            Side::Real(receiver) => match receiver.try_recv() {
                Ok(message) => Ok(message),
                Err(TryRecvError::Disconnected) => Err(RecvError),
                Err(TryRecvError::Empty) => would_block(),
            },
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error if there is no message.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Side::Real(receiver) => receiver.try_recv(),
            Side::Simulated(channel) => channel.try_receive(Location::caller()),
        }
    }

    /// As in `std`, in virtual time inside an execution. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error if no message comes in time, or there is no sender left.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            Side::Simulated(channel) => channel.receive(Some(timeout), Location::caller()),
            Side::Real(receiver) if current().is_none() => receiver.recv_timeout(timeout),
            Side::Real(receiver) => match receiver.try_recv() {
                Ok(message) => Ok(message),
                Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => would_block(),
            },
        }
    }

    /// As in `std`.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// As in `std`.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }
}

macro_rules! sender {
    ($sender:ident) => {
        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                Self(match &self.0 {
                    Side::Real(sender) => Side::Real(sender.clone()),
                    Side::Simulated(channel) => {
                        channel.add_sender();
                        Side::Simulated(channel.clone())
                    }
                })
            }
        }

        impl<T> Drop for $sender<T> {
            fn drop(&mut self) {
                if let Side::Simulated(channel) = &self.0 {
                    channel.remove_sender(here());
                }
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).finish_non_exhaustive()
            }
        }
    };
}
sender!(Sender);
sender!(SyncSender);

/// The place of a handle that is dropped: the compiler knows no other.
fn here() -> Place {
    Location::caller()
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Side::Simulated(channel) = &self.0 {
            channel.close(here());
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
