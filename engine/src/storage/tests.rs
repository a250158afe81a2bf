//! Single-threaded rules of the storages.

use super::*;
use crate::page;

const R: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
const SIZE: usize = 64;

fn tag(block: BlockNumber) -> BufferTag {
    BufferTag::new(R, Fork::Main, block)
}

fn read(storage: &dyn Storage, block: BlockNumber) -> Result<Vec<u8>, StorageError> {
    let mut page = vec![0; SIZE];
    storage.read(tag(block), &mut page).map(|()| page)
}

fn keeps_pages(storage: &dyn Storage) {
    assert_eq!(storage.size(R, Fork::Main).unwrap(), 0);
    assert_eq!(storage.extend(R, Fork::Main, &[1; SIZE]).unwrap(), 0);
    assert_eq!(storage.extend(R, Fork::Main, &[2; SIZE]).unwrap(), 1);
    storage.write(tag(0), &[3; SIZE]).unwrap();
    storage.grow(R, Fork::Main, 2, 2).unwrap();
    assert_eq!(storage.size(R, Fork::Main).unwrap(), 4);
    assert_eq!(read(storage, 3).unwrap(), [0; SIZE]);
    storage.sync(R, Fork::Main).unwrap();

    assert_eq!(read(storage, 0).unwrap(), [3; SIZE]);
    assert_eq!(read(storage, 1).unwrap(), [2; SIZE]);
    assert!(matches!(read(storage, 4), Err(StorageError::PastEnd { .. })));
    assert!(matches!(storage.write(tag(4), &[0; SIZE]), Err(StorageError::PastEnd { .. })));

    storage.remove(R).unwrap();
    assert!(matches!(read(storage, 0), Err(StorageError::Removed { .. })));
}

#[test]
fn memory_keeps_pages() {
    keeps_pages(&MemoryStorage::new(SIZE));
}

#[test]
fn files_keep_pages() {
    let directory = tempfile::tempdir().unwrap();
    keeps_pages(&FileStorage::open(directory.path(), SIZE).unwrap());
}

#[test]
fn files_are_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::open(directory.path(), SIZE).unwrap();
    storage.extend(R, Fork::Main, &[5; SIZE]).unwrap();
    drop(storage);

    let storage = FileStorage::open(directory.path(), SIZE).unwrap();
    assert_eq!(read(&storage, 0).unwrap(), [5; SIZE]);
}

#[test]
#[should_panic(expected = "I-DISK1: ")]
fn a_write_to_a_removed_relation_is_our_bug() {
    let storage = MemoryStorage::new(SIZE);
    storage.create(R, Fork::Main, 1, |_, _| {});
    storage.remove(R).unwrap();
    let _ = storage.write(tag(0), &[0; SIZE]);
}

#[test]
fn part_of_a_page_at_the_end_is_no_page() {
    let directory = tempfile::tempdir().unwrap();
    FileStorage::open(directory.path(), SIZE).unwrap();
    std::fs::write(directory.path().join("1663_1_100_main"), [7; SIZE + 36]).unwrap();

    let storage = FileStorage::open(directory.path(), SIZE).unwrap();

    assert_eq!(storage.size(R, Fork::Main).unwrap(), 1);
    assert!(matches!(read(&storage, 1), Err(StorageError::PastEnd { .. })));
    assert!(matches!(storage.write(tag(1), &[0; SIZE]), Err(StorageError::PastEnd { .. })));
    storage.grow(R, Fork::Main, 1, 1).unwrap();
    assert_eq!(read(&storage, 1).unwrap(), [0; SIZE]);
    assert_eq!(storage.size(R, Fork::Main).unwrap(), 2);
}

#[test]
fn a_foreign_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("thesis.txt"), "chapter 1").unwrap();
    let error = FileStorage::open(directory.path(), SIZE).unwrap_err();
    assert!(matches!(error, StorageError::NotAStorage { .. }), "{error}");

    std::fs::write(directory.path().join("holdup.control"), "chapter 2").unwrap();
    let error = FileStorage::open(directory.path(), SIZE).unwrap_err();
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
}

#[test]
fn another_page_size_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    FileStorage::open(directory.path(), SIZE).unwrap();

    let error = FileStorage::open(directory.path(), 128).unwrap_err();

    assert!(matches!(error, StorageError::OtherPageSize { found: 64, asked: 128, .. }), "{error}");
}

#[test]
fn rot_is_visible_in_the_checksum() {
    let storage = MemoryStorage::new(SIZE);
    storage.create(R, Fork::Main, 1, |_, body| body[0] = 9);
    assert!(page::is_intact(&read(&storage, 0).unwrap(), 0));

    storage.rot(tag(0), 300);

    assert!(!page::is_intact(&read(&storage, 0).unwrap(), 0));
}

#[test]
fn directories_above_are_made_too() {
    let above = tempfile::tempdir().unwrap();
    let directory = above.path().join("a/b");
    FileStorage::open(&directory, SIZE).unwrap();
    assert!(directory.join("holdup.control").exists());
}
