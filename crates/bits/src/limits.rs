/// Bytes available to this process; `None` if the system sets no limit or does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Limit of address space (`ulimit -v`, `ulimit -d`): reserved memory counts, written or not.
    pub address_space_bytes: Option<u64>,
    /// Of memory that can be had without swapping: of the machine's, and of the control group's, in a container say.
    pub memory_bytes: Option<u64>,
}

impl MemoryLimits {
    /// The smaller of both.
    pub fn least_bytes(self) -> Option<u64> {
        self.address_space_bytes.into_iter().chain(self.memory_bytes).min()
    }
}

/// The limits of this process now. Takes some calls of the system.
#[cfg(target_os = "linux")]
pub fn memory_limits() -> MemoryLimits {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| kib_of(&text, "MemAvailable:")).map(|kib| kib * 1024);
    let group = read("/proc/self/cgroup").and_then(|groups| left_to_group(&groups, read));
    MemoryLimits {
        address_space_bytes: address_space_bytes(),
        memory_bytes: machine.into_iter().chain(group).min(),
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub fn memory_limits() -> MemoryLimits {
    MemoryLimits::default()
}

#[cfg(target_os = "linux")]
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(target_os = "linux")]
fn address_space_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: Vec<u64> = text.split_whitespace().filter_map(|pages| pages.parse().ok()).collect();
    // SAFETY: it asks for a constant of the system.
    let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let left = |what, used: Option<&u64>| {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: it writes one struct, which is ours.
        let told = unsafe { libc::getrlimit(what, &mut limit) } == 0;
        let limited = told && limit.rlim_cur != libc::RLIM_INFINITY;
        used.filter(|_| limited).map(|pages| limit.rlim_cur.saturating_sub(pages * page_bytes))
    };
    let left = [left(libc::RLIMIT_AS, pages.first()), left(libc::RLIMIT_DATA, pages.get(5))];
    left.into_iter().flatten().min()
}

/// Memory left by the control groups of this process and their parents; long unused file caches count as free.
#[cfg(target_os = "linux")]
fn left_to_group(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file "]),
            of if of.split(',').any(|one| one == "memory") => {
                let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
                ("/sys/fs/cgroup/memory", names)
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let number = |name: &str| read(&format!("{root}{path}/{name}"))?.trim().parse::<u64>().ok();
            if let (Some(most), Some(used)) = (number(names[0]), number(names[1])) {
                let statistics = read(&format!("{root}{path}/memory.stat")).unwrap_or_default();
                let used = used.saturating_sub(kib_of(&statistics, names[2]).unwrap_or(0));
                least = least.into_iter().chain([most.saturating_sub(used)]).min();
            }
            match path.rfind('/') {
                Some(last) => path = &path[..last],
                None => break,
            }
        }
    }
    least
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_machine_leaves_something() {
        let left = memory_limits().memory_bytes.unwrap();
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let all = kib_of(&text, "MemTotal:").unwrap() * 1024;
        assert!(left <= all && left > all / 1000, "{left} of {all}");
    }

    #[test]
    fn the_narrowest_group_counts_and_old_caches_do_not() {
        let files = |files: &'static [(&'static str, &'static str)]| {
            move |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        let second = files(&[
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "700\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 300\nactive_file 7\n"),
        ]);
        assert_eq!(left_to_group("0::/a/b\n", second), Some(400));
        assert_eq!(left_to_group("0::/\n", second), None);
        let container =
            files(&[("/sys/fs/cgroup/memory.max", "50"), ("/sys/fs/cgroup/memory.current", "60")]);
        assert_eq!(left_to_group("0::/\n", container), Some(0));
        let first = files(&[
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096"),
            ("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1096"),
            ("/sys/fs/cgroup/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 96\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000"),
        ]);
        assert_eq!(left_to_group("5:cpu,cpuacct:/y\n4:memory:/x\n", first), Some(3096));
    }

    #[test]
    fn the_least_is_told() {
        let limits = |address_space_bytes, memory_bytes| MemoryLimits { address_space_bytes, memory_bytes };
        assert_eq!(limits(None, None).least_bytes(), None);
        assert_eq!(limits(Some(5), None).least_bytes(), Some(5));
        assert_eq!(limits(Some(5), Some(3)).least_bytes(), Some(3));
    }

    const LIMIT_KIB: u64 = 3_000_000;

    #[test]
    fn address_space_limit_is_reduced_by_its_use() {
        if std::env::var_os("FLASHTWIN_TEST_LIMITED").is_none() {
            let own = "limits::tests::address_space_limit_is_reduced_by_its_use";
            let done = std::process::Command::new("sh")
                .args(["-c", "ulimit -v \"$1\" && exec \"$0\" --exact \"$2\""])
                .arg(std::env::current_exe().unwrap())
                .args([&LIMIT_KIB.to_string(), own])
                .env("FLASHTWIN_TEST_LIMITED", "yes")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let much: Vec<u8> = Vec::with_capacity(1 << 30);
        let used = kib_of(&std::fs::read_to_string("/proc/self/status").unwrap(), "VmSize:").unwrap() * 1024;
        let left = memory_limits().address_space_bytes.unwrap();
        assert!(used > 1 << 30 && much.is_empty());
        assert!(left.abs_diff(LIMIT_KIB * 1024 - used) < 1 << 24, "{left} beside {used}");
    }
}
