use crate::bench::preset;

const CONTENT: &str = "expected recorded, unique, same-as-address or zipf(EXPONENT,VALUES[,SEED])";
const NO_STORE: &str = "ftl.mapping_cache.fingerprints is true: expected false, or";

/// A system with settings, and words of its refusal.
const REFUSED: [(&str, &str); 24] = [
    (
        "conventional write_cache_dirty=0.0",
        "engine.write_cache_dirty is 0: expected a share above 0, up to 1",
    ),
    (
        "conventional write_cache_pages=8 write_completes=buffered",
        "engine.write_completes is \"buffered\": expected \"programmed\" or \"transferred\" with a write cache (or \
         engine.write_cache_pages = 0)",
    ),
    (
        "conventional multi_plane=same-page concurrency=plane",
        "engine.multi_plane is not \"none\": expected \"none\" with engine.concurrency = \"plane\", whose planes need no \
         common command",
    ),
    (
        "conventional queue_limit=8 queue_depth=4",
        "replay.queue_limit is 8: expected 0 with replay.queue_depth",
    ),
    (
        "rr-ssd mirror=conventional queue_depth=4",
        "replay.mirror is \"conventional\": expected none with replay.queue_depth",
    ),
    ("rr-ssd mirror=conventional queue_limit=4", "with ft.Drive the host waits for answers itself"),
    ("conventional link_mb_s=1e-5", "engine.link_mb_s is 0.00001: expected 0, or 0.001"),
    ("ca-ssd engine.flush=all", "engine.flush"),
    ("ca-ssd engine.flush=all", "writes"),
    ("conventional mapping_cache.bytes=4095", "ftl.mapping_cache.bytes is 4095"),
    ("conventional mapping_cache.bytes=4095", "nand.page_bytes"),
    ("conventional mapping_cache.bytes=none", "a whole number or \"unlimited\""),
    ("ca-ssd-inverted mapping_cache.bytes=1000000", "ftl.dedup.tables is inverted: expected \"two-level\""),
    ("conventional mapping_cache.bytes=1000000 mapping_cache.fingerprints=true", NO_STORE),
    ("rr-ssd mapping_cache.fingerprints=true", NO_STORE),
    ("conventional checkpoint_s=-1", "0 (never) or a number of seconds"),
    ("conventional checkpoint_s=1 blocks_per_plane=6", "nand.blocks_per_plane is 6: expected at least"),
    (
        "hot-cold blocks_per_plane=6",
        "nand.blocks_per_plane is 6: expected at least 7 (active blocks and a reserve for garbage collection); each of \
         ftl.partition.partitions takes two",
    ),
    ("hot-cold blocks_per_plane=7 ftl.wear.policy=static", "at least 9"),
    ("hot-cold partitions=4", "ftl.partition.partitions is 4: expected 2"),
    ("ca-ssd replay.content=zipf(1)", "(1 numbers are given, two or three were expected)"),
    ("ca-ssd replay.content=zipf(x,5)", "(the exponent 'x' is not a number from 0 to 10"),
    ("ca-ssd replay.content=made-up", CONTENT),
    ("ca-ssd replay.content=none", "replay.content is \"none\": expected recorded, which is none"),
];

#[test]
fn refusals_name_the_place_and_the_cure() {
    for (case, words) in REFUSED {
        let (system, sets) = case.split_once(' ').unwrap();
        let sets: Vec<_> = sets.split(' ').map(|set| set.split_once('=').unwrap()).collect();
        let error = preset(system, &sets).unwrap_err();
        assert!(error.contains(words), "{error}, not {words}");
        assert!(sets[0].0 != "replay.content" || error.starts_with("replay.content is "), "{error}");
    }
    assert!(preset("hot-cold", &[("blocks_per_plane", "7")]).is_ok());
    assert!(preset("ca-ssd", &[("replay.content", "5")]).unwrap_err().contains(CONTENT));
}
