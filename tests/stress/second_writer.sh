#!/usr/bin/env bash
# A second writer of the comm home's files, made from the contract alone with bash, jq, perl, flock and link.
#
#     second_writer.sh HOME NAME PEER STEPS SEED LOGS
#
# It shares no line with the product, so that a misreading of the contract cannot agree with itself. Each step is one of:
# a registry write under the lock, a filing, a dead writer's partial line, a poll, a look at the peer's unread lines, and
# now and then a process of its own that dies holding the registry lock. What it did is noted in LOGS, for a judge.
set -u -o pipefail
umask 077
export LC_ALL=C

HOME_=$1 NAME=$2 PEER=$3 STEPS=$4 RANDOM=$5 LOGS=$6
BOOK=$HOME_/registry.json LOCK=$HOME_/.registry.lock
TAKE_SECS=60 FILED=0 WRITTEN=0

fail() {
  printf 'FAILED %s: %s\n' "$NAME" "$1" >&2
  exit 1
}

now_ms() { printf '%s' $((${EPOCHREALTIME/./} / 1000)); }

# -- who holds, and who is dead ---------------------------------------------------------------------------------------

start_of() { # field 22 of stat; the name before it may hold anything, so count behind its last ')'
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- ${stat##*)}
  [ "$1" != Z ] && [ "$1" != X ] && printf '%s' "${20}"
}

HOST=$(hostname) HOST=${HOST%%.*} HOST=${HOST,,}
MACHINE=$(cat /etc/machine-id 2>/dev/null) || MACHINE=-
BOOT=$(cat /proc/sys/kernel/random/boot_id)
PIDNS=$(readlink /proc/self/ns/pid) PIDNS=${PIDNS//[^0-9]/}
case $(stat -f -c %T "$HOME_") in
  ext2/ext3 | xfs | btrfs | zfs | f2fs | tmpfs) FRESH=1 ;;
  *) FRESH= ;;
esac

record_of() { # of the process $1
  if [ "$FRESH" ]; then
    printf '%s:%s:%s:%s:%s:%s' "$HOST" "$MACHINE" "$BOOT" "$PIDNS" "$1" "$(start_of "$1")"
  else
    printf '%s:-:-:-:%s:-' "$HOST" "$1"
  fi
}

is_dead() { # "the same boot and pid namespace, with the pid gone or its start tick changed"
  local name machine boot pidns pid start now
  IFS=: read -r name machine boot pidns pid start <<<"$1" || return 1
  [ "$FRESH" ] && [ "$boot" = "$BOOT" ] && [ "$pidns" = "$PIDNS" ] && [ "$pidns" != - ] && [ "$start" != - ] || return 1
  now=$(start_of "$pid") || return 0
  [ "$now" != "$start" ]
}

# -- the registry lock ------------------------------------------------------------------------------------------------

reclaim() { # with this take's temp file; true when the lock is gone
  local temp=$1 me=$2 dead over marker creator again
  dead=$(cat "$LOCK" 2>/dev/null) && [ "$dead" ] || return 1
  over=$dead
  while is_dead "$over"; do
    marker=$HOME_/.registry.lock.reclaim.${over//:/.}
    if link "$temp" "$marker" 2>/dev/null || [ "$temp" -ef "$marker" ]; then
      sleep 1 # the settle
      again=$(cat "$LOCK" 2>/dev/null) || again=
      [ "$again" = "$dead" ] || return 1
      rm "$LOCK"
      return
    fi
    creator=$(cat "$marker" 2>/dev/null) && [ "$creator" ] && [ "$creator" != "$over" ] || return 1
    over=$creator
  done
  return 1
}

take() { # for the process $1
  local me temp end
  me=$(record_of "$1")
  temp=$HOME_/.registry.lock.tmp.${me//:/.}
  printf '%s\n' "$me" >"$temp"
  end=$(($(now_ms) + TAKE_SECS * 1000))
  until link "$temp" "$LOCK" 2>/dev/null || [ "$temp" -ef "$LOCK" ]; do
    reclaim "$temp" "$me" && continue
    [ "$(now_ms)" -lt "$end" ] || {
      rm -f "$temp"
      fail "the lock was not taken: $(cat "$LOCK")"
    }
    sleep 0.05
  done
  rm "$temp"
  local inside
  inside=$(cat "$HOME_/inside" 2>/dev/null)
  [ -z "$inside" ] || ! start_of "$inside" >/dev/null || fail "two inside: $inside and $1"
  printf '%s' "$1" >"$HOME_/inside"
}

release() {
  rm -f "$HOME_/inside"
  rm "$LOCK"
}

write_book() {
  take $$
  jq -ce --arg n "$NAME" --arg t "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
    if (.agents | type) == "object" then
      .agents[$n].n += 1 | .agents.all.n += 1 | .agents[$n].last_seen = $t
    else error("no agents") end' "$BOOK" >"$BOOK.tmp" || fail "the registry could not be read"
  perl -e 'use IO::Handle; open(my $f, "+<", $ARGV[0]) or die; $f->sync or die' "$BOOK.tmp" || fail "flush"
  mv -T "$BOOK.tmp" "$BOOK" || fail "rename"
  release
  WRITTEN=$((WRITTEN + 1))
}

die_holding() { # a process that takes the lock and ends
  [ "$FRESH" ] || return 0
  (take "$BASHPID") || fail "the one to die took nothing"
}

# -- inboxes ----------------------------------------------------------------------------------------------------------

file_line() {
  local to=$1 line
  FILED=$((FILED + 1))
  line=$(jq -cn --arg f "$NAME" --arg t "$to" --arg m "$NAME-$FILED-$RANDOM π \"q\"" \
    --arg ts "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{from: $f, to: $t, repo: "second", msg: $m, ts: $ts}')
  {
    flock -w 60 -x 9 || fail "the inbox lock of $to"
    LINE=$line perl -e '
      use strict; use IO::Handle; use Fcntl qw(:seek);
      open(my $f, "+>>", $ARGV[0]) or die "open: $!";
      my $length = sysseek($f, 0, SEEK_END) + 0;
      if ($length) {
        sysseek($f, 0, SEEK_SET);
        my $whole = "";
        while (sysread($f, my $part, 1 << 16)) { $whole .= $part }
        truncate($f, rindex($whole, "\n") + 1) or die "cut: $!" unless substr($whole, -1) eq "\n";
      }
      my $line = "$ENV{LINE}\n";
      for my $half (substr($line, 0, 20), substr($line, 20)) { # whoever comes between had no lock
        syswrite($f, $half) == length($half) or die "write: $!";
        select(undef, undef, undef, 0.003);
      }
      $f->sync or die "sync: $!";' "$HOME_/inbox/$to.jsonl" || fail "the append to $to"
  } 9<>"$HOME_/inbox/$to.lock"
  printf '%s\n' "$line" >>"$LOGS/filed.$NAME.$to"
}

leave_partial() {
  {
    flock -w 60 -x 9 || fail "the inbox lock of $1"
    [ -z "$(tail -c 1 "$HOME_/inbox/$1.jsonl" 2>/dev/null)" ] &&
      printf '{"from":"%s","to":"%s","msg":"torn' "$NAME" "$1" >>"$HOME_/inbox/$1.jsonl"
  } 9<>"$HOME_/inbox/$1.lock"
}

hash_of() { # of the text on stdin: one line without its newline and NUL bytes
  local crc length
  read -r crc length < <(tr -d '\n\0' | cksum)
  printf '%s-%s' "$crc" "$length"
}

offset_in() { # of the cursor $1 in the file $2, into AT and TOTAL; STEPPED says that it went back
  local count hash
  TOTAL=$(tr -cd '\n' <"$2" | wc -c) AT=0 STEPPED=
  { read -r count hash <"$1"; } 2>/dev/null || [ "${count:-}" ] || return 0
  if [ "$count" -le "$TOTAL" ]; then
    AT=$count
    [ "$count" -eq 0 ] || [ -z "$hash" ] && return 0
    [ "$(sed -n "${count}p" "$2" | hash_of)" = "$hash" ] || AT=$((count - 1)) STEPPED=1
  else
    STEPPED=1 AT=$TOTAL
  fi
}

poll() { # the own inbox: count and read under the shared lock, show, then the cursor from the bytes that were read
  local inbox=$HOME_/inbox/$NAME.jsonl cursor=$HOME_/read/$NAME.cursor batch=$LOGS/batch.$NAME
  [ -e "$inbox" ] || return 0
  {
    flock -w 60 -s 9 || fail "the shared lock"
    offset_in "$cursor" "$inbox"
    [ -z "$STEPPED" ] || fail "the cursor stepped back, and nothing was cut back"
    head -n "$TOTAL" "$inbox" | tail -n "+$((AT + 1))" >"$batch"
  } 9<>"$HOME_/inbox/$NAME.lock"
  [ -s "$batch" ] || return 0
  cat "$batch" >>"$LOGS/read.$NAME"
  printf '%s %s\n' "$TOTAL" "$(tail -n 1 "$batch" | hash_of)" >"$cursor.tmp.$$"
  mv -T "$cursor.tmp.$$" "$cursor"
}

look() { # how many lines the peer has not read yet, as its cursor says
  local inbox=$HOME_/inbox/$PEER.jsonl
  [ -e "$inbox" ] || return 0
  {
    flock -w 60 -s 9 || fail "the shared lock"
    offset_in "$HOME_/read/$PEER.cursor" "$inbox"
    [ -z "$STEPPED" ] || fail "the peer's cursor does not fit its inbox"
    head -n "$TOTAL" "$inbox" | tail -n "+$((AT + 1))" |
      jq -cn --arg me "$PEER" 'reduce inputs as $l (0; if $l.to == $me and $l.from != $me then . + 1 else . end)' \
        >/dev/null || fail "a line of the peer's inbox is no JSON"
  } 9<>"$HOME_/inbox/$PEER.lock"
}

for ((step = 1; step <= STEPS; step++)); do
  case $((RANDOM % 20)) in
    [0-6]) write_book ;;
    [7-9]) file_line "$PEER" ;;
    1[01]) file_line "$NAME" ;;
    12) leave_partial "$PEER" ;;
    13) leave_partial "$NAME" ;;
    1[4-6]) poll ;;
    1[78]) look ;;
    19) ((RANDOM % 4)) || die_holding ;;
  esac
  ((step != STEPS / 2)) || die_holding
done
printf '%s' "$WRITTEN" >"$LOGS/written.$NAME"
