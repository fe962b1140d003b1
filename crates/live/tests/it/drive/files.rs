use flashtwin_live::drive::{CreateOptions, DriveOptions};
use flashtwin_live::{Drive, Export, Writing};

use crate::common::Folder;

#[test]
fn a_file_keeps_what_was_flushed_and_belongs_to_one_at_a_time() {
    let folder = Folder::new();
    let path = folder.join("drive.img");
    let size = 8 << 20;
    Drive::create(&path, "ca-ssd", size, &CreateOptions::default()).unwrap();
    let again = Drive::create(&path, "ca-ssd", size, &CreateOptions::default()).unwrap_err().to_string();
    assert!(again.contains("it exists"), "{again}");
    let drive = Drive::open(&path, &DriveOptions::default()).unwrap();
    assert_eq!((drive.size_bytes(), drive.preferred_block_bytes()), (size, 4096));
    let other = Drive::open(&path, &DriveOptions::default()).err().unwrap().to_string();
    assert!(other.contains("another process is using it"), "{other}");
    let bytes: Vec<u8> = (0..100_000u32).map(|at| (at / 3000) as u8).collect();
    drive.write(12_345, &bytes, Writing::default(), &()).unwrap();
    drive.flush().unwrap();
    drop(drive);
    let drive = Drive::open(&path, &DriveOptions { read_only: true, ..DriveOptions::default() }).unwrap();
    assert!(drive.recovery().0 > 0);
    let mut read = vec![0; bytes.len()];
    drive.read(12_345, &mut read, &()).unwrap();
    assert_eq!(read, bytes);
    assert!(drive.read_only().is_some());
    assert!(drive.write(0, &bytes, Writing::default(), &()).is_err());
    drop(drive);
    Drive::open(&path, &DriveOptions::default()).unwrap().close().unwrap();
    let report = Drive::check(&path, true).unwrap();
    assert_eq!((report.problems.len(), report.log_batches), (0, 0), "{report:?}");
    assert_eq!(report.mapped_pages, (12_345u64 + 100_000).div_ceil(4096) - 12_345 / 4096);
    let info = Drive::info(&path).unwrap();
    assert_eq!((info.system.name.as_str(), info.size_bytes, info.version), ("ca-ssd", size, 2));
    assert_eq!(info.medium_bytes, std::fs::metadata(&path).unwrap().len());
}

#[test]
fn extents_tell_holes_and_zeroes_read_as_such() {
    let folder = Folder::new();
    let path = folder.join("drive.img");
    Drive::create(&path, "conventional", 4 << 20, &CreateOptions::default()).unwrap();
    let drive = Drive::open(&path, &DriveOptions::default()).unwrap();
    drive.write(8192, &[7; 8192], Writing::default(), &()).unwrap();
    let kinds = |offset, length| -> Vec<(u64, bool)> {
        let extents = drive.extents(offset, length, 4096, &()).unwrap();
        extents.iter().map(|extent| (extent.length_bytes, extent.hole && extent.zero)).collect()
    };
    assert_eq!(kinds(0, 32_768), [(8192, true), (8192, false), (16_384, true)]);
    assert_eq!(kinds(9000, 100), [(100, false)]);
    drive.write_zeroes(10_000, 5000, Writing::default(), &()).unwrap();
    let mut read = [1; 16_384];
    drive.read(4096, &mut read, &()).unwrap();
    let expected = |at: usize| (8192..10_000).contains(&at) || (15_000..16_384).contains(&at);
    for (at, &byte) in read.iter().enumerate() {
        assert_eq!(byte, if expected(at + 4096) { 7 } else { 0 }, "byte {}", at + 4096);
    }
    let fast = Writing { keep_room: true, only_if_fast: true, durable: false };
    let error = drive.write_zeroes(0, 4096, fast, &()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    drive.write_zeroes(0, 4096, Writing { keep_room: true, ..Writing::default() }, &()).unwrap();
    assert_eq!(kinds(0, 4096), [(4096, false)]);
}

#[test]
fn what_cannot_be_served_is_refused_by_name_with_the_reason() {
    let error = |system: &str, sets: &[(&str, &str)], size: u64| {
        let sets = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let options = CreateOptions { sets, ..CreateOptions::default() };
        let plan = flashtwin_live::drive::Plan::new(system, size, &options);
        plan.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let size = 64 << 20;
    for (system, sets, words) in [
        ("oracle", &[][..], "'oracle' cannot be served: it reads from chips that do not have the page"),
        ("hot-cold", &[], "'hot-cold' cannot be served: it keeps pages apart by how often"),
        (
            "conventional",
            &[("ftl.mapping_cache.checkpoint_s", "1")],
            "keeps mapping tables on the simulated flash",
        ),
        ("conventional", &[("nand.blocks_per_plane", "5")], "raise nand.blocks_per_plane"),
        ("ca-sdd", &[], "did you mean 'ca-ssd'"),
    ] {
        let size = if sets.iter().any(|set| set.0.contains("blocks")) { 1 << 32 } else { size };
        let text = error(system, sets, size);
        assert!(text.contains(words), "{system}: {text}");
    }
    assert!(error("conventional", &[], 1000).contains("a multiple of the page size, 4096 bytes"));
    for system in crate::drive::scene::SYSTEMS {
        let size = if system == "modern" { 64 << 20 } else { size };
        assert_eq!(error(system, &[], size), "", "{system}");
    }
}

#[test]
fn a_drive_whose_making_was_interrupted_is_made_again() {
    let folder = Folder::new();
    let (path, part) = (folder.join("drive.img"), folder.join("drive.img.part"));
    let create = || Drive::create(&path, "rr-ssd", 8 << 20, &CreateOptions::default());
    // As a process leaves it that is killed at once, a little later, or just before the end.
    create().unwrap();
    let mut finished = [0; 4096];
    std::os::unix::fs::FileExt::read_exact_at(&std::fs::File::open(&path).unwrap(), &mut finished, 0)
        .unwrap();
    for left in [&b""[..], b"FTWMAKES", &finished] {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&part, left).unwrap();
        create().unwrap();
        assert!(!part.exists());
        Drive::open(&path, &DriveOptions::default()).unwrap();
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&part, "half of a film").unwrap();
    let error = create().unwrap_err().to_string();
    assert!(
        error.contains("drive.img.part") && error.contains("move it, or name the image otherwise"),
        "{error}"
    );
    assert_eq!(std::fs::read(&part).unwrap(), b"half of a film");
    std::fs::write(&part, "").unwrap();
    let other = std::fs::File::open(&part).unwrap();
    other.lock().unwrap();
    let error = create().unwrap_err().to_string();
    assert!(error.contains("another process is using it"), "{error}");
}

#[test]
fn an_image_is_its_owners_alone_and_a_pipe_is_none() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.join("drive.img");
    Drive::create(&path, "conventional", 8 << 20, &CreateOptions::default()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let pipe = folder.join("pipe");
    // Not by `mkfifo` in a process of its own: until that has started, it holds the images and locks of other tests.
    let name = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the name is a string that ends with a zero byte and outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for found in [
        Drive::open(&pipe, &DriveOptions::default()).err(),
        Drive::info(&pipe).err(),
        Drive::check(&folder.0, true).err(),
    ] {
        let error = found.unwrap().to_string();
        assert!(error.contains("neither a file nor a block device"), "{error}");
    }
}
