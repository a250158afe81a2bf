//! Making a relation longer: new pages of zeroes, in buffers from the start.
//!
//! `Classic`, as PostgreSQL up to 15, adds one page at a time, and does everything under the
//! extension lock: measure, find a buffer, grow the file, call the page valid. Others may see it
//! before its creator has locked it. `Modern`, as 16 and later, finds and zeroes several buffers
//! before it takes that lock, names them while the file is still short, grows it by all of them, and
//! locks the first page before it calls it valid.
//!
//! In both a buffer may have the page already: somebody looked behind the end, or grew the file and
//! failed. If it is new it is taken over; the file must grow even so, or the next to come is given
//! the same block (B18).
//!
//! Touches: the extension lock, victims, the mapping, flags. Keeps: a block is given to one creator
//! (I-EXT1); who comes by a block that is being added waits for the end of that, since input on it is
//! in progress before the file has it.
//! Source: `ExtendBufferedRelShared` and `LimitAdditionalPins` in PostgreSQL's `bufmgr.c`;
//! `ReadBuffer_common` of 15.

use super::content_lock::LockMode;
use super::error::BufferError;
use super::guard::{IoPage, Pin};
use super::io::Direction;
use super::locked::LockedPage;
use super::session::{Session, is_dying};
use super::state::IO_ERROR;
use crate::storage::StorageError;
use crate::sync::{MutexGuard, lock, mutant, note};
use crate::tag::{BlockNumber, BufferTag, Fork, RelationId};

/// New pages at the end of a fork, one behind the other.
#[derive(Debug)]
#[must_use = "the pages are unpinned when this is dropped"]
pub struct NewPages<'s, 'p> {
    /// The first of them, locked to change.
    pub first: LockedPage<'s, 'p>,
    /// Those behind it, pinned.
    pub others: Vec<Pin<'s, 'p>>,
}

impl<'p> Session<'p> {
    /// Appends a page of zeroes to a fork and pins its buffer. Creates the fork if there is none.
    ///
    /// # Errors
    ///
    /// As [`Session::extend_by`].
    pub fn extend(&self, relation: RelationId, fork: Fork) -> Result<Pin<'_, 'p>, BufferError> {
        let added = self.add(relation, fork, Goal { by: 1, to: None, lock_first: false })?;
        Ok(first_of(&mut added.into_iter()))
    }

    /// Appends up to `by` pages of zeroes to a fork, at least one, and locks the first of them to
    /// change. They are fewer where this session has no more pins to its share of the pool.
    ///
    /// In `Modern` nobody has seen the first page before; in `Classic` somebody may have.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] if the storage failed, for these pages or for a dirty one that had to
    /// go; the file may have grown even so. [`BufferError::NoUnpinnedBuffers`] if every buffer is
    /// pinned, [`BufferError::DataBeyondEnd`] if a buffer has data where a page would go, and
    /// [`BufferError::RelationFull`] if there is no number for it. No pin is left behind.
    pub fn extend_by(
        &self,
        relation: RelationId,
        fork: Fork,
        by: u32,
    ) -> Result<NewPages<'_, 'p>, BufferError> {
        let by = by.max(1).min(self.more_pins());
        let goal = Goal { by, to: None, lock_first: true };
        let mut added = self.add(relation, fork, goal)?.into_iter();
        let first = first_of(&mut added);
        if self.content_lock(first.buf_id).is_none() {
            self.lock_content(first.buf_id, LockMode::Exclusive);
        }
        Ok(NewPages { first: LockedPage::locked(first), others: added.collect() })
    }

    /// Appends pages of zeroes to a fork until it has `n_blocks`, if it has fewer, and pins the last
    /// of those.
    ///
    /// # Errors
    ///
    /// As [`Session::extend_by`] and [`Session::read`]; [`BufferError::Options`] if `n_blocks` is 0.
    pub fn extend_to(
        &self,
        relation: RelationId,
        fork: Fork,
        n_blocks: u32,
    ) -> Result<Pin<'_, 'p>, BufferError> {
        let Some(last) = n_blocks.checked_sub(1) else {
            return Err(BufferError::Options("a fork of no pages has no last one".to_owned()));
        };
        let mut size = self.measure(relation, fork)?;
        while size < n_blocks {
            let by = (n_blocks - size).min(self.more_pins());
            self.add(relation, fork, Goal { by, to: Some(n_blocks), lock_first: false })?;
            size = self.measure(relation, fork)?;
        }
        self.read(BufferTag { relation, fork, block: last })
    }

    /// How many pins more this session may take at one time: its share of the pool less what it has,
    /// but one in any case, or nobody could do anything in a small pool (B20).
    fn more_pins(&self) -> u32 {
        let share = self.pool.n_buffers() / self.pool.options.max_sessions;
        let pinned = if mutant::is("pinlimit.forgets_own") { 0 } else { self.refs.len() };
        let more = share.saturating_sub(pinned);
        if mutant::is("pinlimit.off_by_one") { more } else { more.max(1) }
    }

    fn measure(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, BufferError> {
        match self.pool.storage.size(relation, fork) {
            Err(StorageError::Removed { .. }) => Ok(0),
            size => Ok(size?),
        }
    }

    /// Adds pages, all at one time or, in `Classic`, one by one.
    fn add(
        &self,
        relation: RelationId,
        fork: Fork,
        goal: Goal,
    ) -> Result<Vec<Pin<'_, 'p>>, BufferError> {
        if self.pool.is_modern() {
            return self.add_at_once(relation, fork, goal);
        }
        let mut added = Vec::new();
        for _ in 0..goal.by {
            added.extend(self.add_at_once(relation, fork, Goal { by: 1, ..goal })?);
        }
        Ok(added)
    }

    fn add_at_once(
        &self,
        relation: RelationId,
        fork: Fork,
        goal: Goal,
    ) -> Result<Vec<Pin<'_, 'p>>, BufferError> {
        let mut batch = Batch { session: self, victims: Vec::new(), claimed: Vec::new() };
        if self.pool.is_modern() {
            batch.take_victims(goal.by)?;
        }
        let early = match mutant::is("extend.size_before_lock") {
            true => Some(self.measure(relation, fork)?),
            false => None,
        };
        let growing = lock(&self.pool.extension);
        let first = match early {
            Some(first) => first,
            // Only now: others may have added pages while we looked for buffers.
            None => self.measure(relation, fork)?,
        };
        let by = goal.to.map_or(goal.by, |to| to.saturating_sub(first).min(goal.by));
        if first.checked_add(by).is_none() {
            return Err(BufferError::RelationFull { relation, by });
        }
        if !self.pool.is_modern() {
            batch.take_victims(by)?;
        }
        let start = BufferTag { relation, fork, block: first };
        let mut grown = by == 0;
        if mutant::is("extend.grow_before_claim") {
            self.grow_file(start, by)?;
            grown = true;
        }
        for block in first..first + by {
            grown |= !batch.claim(BufferTag { block, ..start })?;
        }
        if !grown {
            self.grow_file(start, by)?;
        }
        Ok(batch.publish(growing, goal.lock_first))
    }

    /// Makes the file longer. The caller has the extension lock.
    fn grow_file(&self, start: BufferTag, by: u32) -> Result<(), BufferError> {
        let BufferTag { relation, fork, block } = start;
        let grown = self.pool.storage.grow(relation, fork, block, by);
        self.pool.syncs.request(relation, fork);
        if mutant::is("extend.ignore_error") {
            return Ok(());
        }
        grown?;
        note!("extends the file by page {block}");
        Ok(())
    }

    /// Starts input on a page behind the end, and sees to it that it is zeroes. The session has it
    /// pinned. False if the mutant thinks there is nothing to do.
    fn start_new_page(
        &self,
        buf_id: u32,
        tag: BufferTag,
        is_victim: bool,
    ) -> Result<bool, BufferError> {
        if !self.start_io(buf_id, Direction::Input)? {
            // Somebody looked behind the end and has a valid page.
            if mutant::is("extend.skip_if_valid") {
                return Ok(false);
            }
            note!("finds page {} behind the end in buffer {buf_id}", tag.block);
            self.lock_content(buf_id, LockMode::Share);
            let is_new = self.page(buf_id).iter().all(|&byte| byte == 0);
            let started = match is_new {
                true => self.start_input_anew(buf_id),
                false => Err(BufferError::DataBeyondEnd { tag }),
            };
            self.unlock_content(buf_id);
            return started.map(|()| true);
        }
        // A victim is zeroes already, unless somebody came to read the page before this and failed.
        let untouched = is_victim && !self.pool.desc(buf_id).load().has(IO_ERROR);
        if !untouched && !mutant::is("extend.keep_garbage") {
            IoPage::new(self, buf_id).bytes_mut().fill(0);
        }
        Ok(true)
    }
}

fn first_of<'s, 'p>(added: &mut impl Iterator<Item = Pin<'s, 'p>>) -> Pin<'s, 'p> {
    match added.next() {
        Some(first) => first,
        None => panic!("I-EXT2: an extension has at least one page, but none was added"),
    }
}

/// What an extension is for.
#[derive(Clone, Copy)]
struct Goal {
    /// Pages to add.
    by: u32,
    /// Pages the fork should not get more than, where others add some meanwhile.
    to: Option<BlockNumber>,
    /// Whether the first page is locked before others see it, where that is possible.
    lock_first: bool,
}

/// Buffers on their way to new pages. When dropped on the way it gives all of them back.
struct Batch<'s, 'p> {
    session: &'s Session<'p>,
    /// Pinned and without a page, their bytes zeroes.
    victims: Vec<u32>,
    /// Pinned, with input in progress.
    claimed: Vec<(u32, BufferTag)>,
}

impl<'s, 'p> Batch<'s, 'p> {
    fn take_victims(&mut self, by: u32) -> Result<(), BufferError> {
        for _ in 0..by {
            let buf_id = self.session.victim(None)?;
            self.victims.push(buf_id);
            IoPage::new(self.session, buf_id).bytes_mut().fill(0);
        }
        Ok(())
    }

    /// Gives the page to a victim, or finds the buffer that has it, and starts input on it. False if
    /// the mutant thinks the file has the page.
    fn claim(&mut self, tag: BufferTag) -> Result<bool, BufferError> {
        let Some(victim) = self.victims.pop() else {
            unreachable!("there is a victim for each page");
        };
        let key = self.session.pool.mapping.key(tag);
        let (buf_id, _) = self.session.give_page(victim, tag, key, None)?;
        match self.session.start_new_page(buf_id, tag, buf_id == victim) {
            Ok(started) => {
                self.claimed.push((buf_id, tag));
                Ok(started)
            }
            Err(error) => {
                self.session.unpin(buf_id);
                Err(error)
            }
        }
    }

    /// Ends the input, well. The file has grown: in `Modern`, others may do the same from here on.
    fn publish(mut self, growing: MutexGuard<'_, ()>, lock_first: bool) -> Vec<Pin<'s, 'p>> {
        let session = self.session;
        let growing = if session.pool.is_modern() {
            drop(growing);
            None
        } else {
            Some(growing)
        };
        let mut pages = Vec::new();
        for (buf_id, tag) in std::mem::take(&mut self.claimed) {
            if lock_first
                && pages.is_empty()
                && session.pool.is_modern()
                && !mutant::is("extend.valid_before_lock")
            {
                // Nobody has it locked: a page is locked when it is valid.
                session.lock_content(buf_id, LockMode::Exclusive);
            }
            let skipped = mutant::is("extend.skip_if_valid")
                && !session.pool.desc(buf_id).load().is_io_in_progress();
            if !skipped {
                session.finish_io(buf_id, Direction::Input);
            }
            pages.push(Pin::new(session, buf_id, tag));
        }
        drop(growing);
        pages
    }
}

impl Drop for Batch<'_, '_> {
    fn drop(&mut self) {
        if is_dying() {
            return;
        }
        for &buf_id in &self.victims {
            self.session.give_victim_back(buf_id);
        }
        for &(buf_id, _) in &self.claimed {
            if !mutant::is("extend.keep_io") {
                self.session.abort_io(buf_id, Direction::Input);
            }
            self.session.unpin(buf_id);
        }
    }
}
