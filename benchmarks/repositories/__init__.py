"""Real fixes of public repositories as tasks, in the format of SWE-bench.

The rule of the selection, written down before any commit was tried (26 November 2026):

1. Repositories: the entries of `sources.toml`, in that order. They are public, of different kinds, and their tests run
   without a network and in less than a minute here. An entry whose tests cannot be run at its newest commits gives no
   task; it is not replaced by a hand-picked commit.
2. Commits: all commits of the default branch, the newest first, without merges other than those of a pull request.
   A commit is a candidate if its message has a word of `FIX_WORDS`, it changes one to three source files by at most
   150 lines in all, it adds or changes a file of tests, and its other files are documentation. Bots are left out.
3. Task: at most the first 40 candidates of a repository are tried, and the first three that are verified are taken.
   Verified means, in a sandbox without a network, with the tests of the fix: their files can be loaded at the parent
   (else they need a name that only the fix defines; added after the first five commits of `mahmoud/boltons`); at
   least one test of the fix fails at the parent and passes at the commit; every one of those does so in two
   repetitions; no test that passes at the parent fails at the commit; and at least one test passes at both. A test
   whose outcome changes between repetitions counts for nothing. A candidate with a test to fix that an earlier task of
   its repository has is skipped.
4. Statement: the text of the issue that the message names, if that text is available, without comments; else the
   message of the commit without trailers. It is cut before the solution: a heading or a code block with a patch, or a
   sentence about the correction. A text of less than 40 characters is no statement.
5. Hidden: the tests of the fix. Neither system sees them, the history, or any commit after the parent.

The code of the repositories and the tasks themselves are not part of this repository: they are made again from a
folder with clones.
"""
