use std::time::Duration;

use holdup::sync::mpsc::{
    RecvTimeoutError, SendError, TryRecvError, TrySendError, channel, sync_channel,
};
use holdup::{hint, thread};

use crate::{fails, passes};

#[test]
fn messages_of_one_sender_arrive_in_order_and_none_is_lost() {
    passes(|| {
        let (sender, receiver) = channel();
        for id in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || (0..3).for_each(|n| sender.send((id, n)).unwrap()));
        }
        drop(sender);
        let mut next = [0, 0];
        for (id, n) in receiver {
            assert_eq!(n, next[id]);
            next[id] += 1;
        }
        assert_eq!(next, [3, 3]);
    });
}

#[test]
fn a_sender_that_is_never_dropped_leaves_the_receiver_waiting() {
    let failure = fails(|| {
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::spawn(move || other.send(1).unwrap());
        assert_eq!(receiver.iter().count(), 1);
        drop(sender);
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_bounded_channel_makes_senders_wait_for_room() {
    passes(|| {
        let (sender, receiver) = sync_channel(2);
        assert_eq!(sender.try_send(0), Ok(()));
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
        thread::scope(|scope| {
            scope.spawn(move || (2..6).for_each(|n| sender.send(n).unwrap()));
            assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        });
    });
}

#[test]
fn two_tasks_that_fill_each_others_channel_deadlock() {
    let failure = fails(|| {
        let (to_left, left) = sync_channel(1);
        let (to_right, right) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                (0..2).for_each(|n| to_right.send(n).unwrap());
                assert_eq!(left.iter().count(), 2);
            });
            scope.spawn(move || {
                (0..2).for_each(|n| to_left.send(n).unwrap());
                assert_eq!(right.iter().count(), 2);
            });
        });
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_rendezvous_send_returns_only_when_its_message_was_taken() {
    use holdup::sync::atomic::{AtomicU32, Ordering};
    passes(|| {
        let (sender, receiver) = sync_channel(0);
        let received = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                let (sender, received) = (sender.clone(), &received);
                scope.spawn(move || {
                    sender.send(()).unwrap();
                    assert!(received.load(Ordering::SeqCst) >= 1);
                });
            }
            for _ in 0..2 {
                received.fetch_add(1, Ordering::SeqCst);
                receiver.recv().unwrap();
            }
        });
        assert_eq!(sender.try_send(()), Err(TrySendError::Full(())));
    });
}

#[test]
fn a_rendezvous_sender_gets_its_message_back_if_the_receiver_goes() {
    passes(|| {
        let (sender, receiver) = sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || assert_eq!(sender.send(7), Err(SendError(7))));
            scope.spawn(move || drop(receiver));
        });
    });
}

#[test]
fn a_receiver_that_goes_drops_its_messages_and_refuses_more() {
    let body = || {
        let message = std::sync::Arc::new(());
        let (sender, receiver) = channel();
        sender.send(message.clone()).unwrap();
        drop(receiver);
        assert_eq!(std::sync::Arc::strong_count(&message), 1);
        assert!(sender.send(message).is_err());
    };
    passes(body);
    body();
}

#[test]
fn trying_to_receive_tells_empty_from_disconnected() {
    let body = || {
        let (sender, receiver) = channel();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.send(1).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1]);
        let timeout = Duration::from_millis(1);
        assert_eq!(receiver.recv_timeout(timeout), Err(RecvTimeoutError::Timeout));
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv_timeout(timeout), Err(RecvTimeoutError::Disconnected));
        assert!(receiver.recv().is_err());
    };
    passes(body);
    body();
}

#[test]
fn a_loop_that_polls_with_try_recv_ends() {
    passes(|| {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(5).unwrap());
        let received = loop {
            match receiver.try_recv() {
                Ok(message) => break message,
                Err(_) => hint::spin_loop(),
            }
        };
        assert_eq!(received, 5);
    });
}

#[test]
fn waiting_on_a_channel_from_outside_is_refused() {
    let (sender, receiver) = channel::<u32>();
    let receiver = std::sync::Mutex::new(receiver);
    let failure = fails(|| {
        let _ = receiver.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
    });
    assert!(failure.message.contains("outside of executions"), "{}", failure.message);
    drop(sender);
}
