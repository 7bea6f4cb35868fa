/* Binomial checkpointing of adStack.h: Revolve's optimal schedule (Griewank, Walther: Algorithm 799, 2000), one action
 * at a time. No schedule is stored: a session is the positions of its snapshots, where the state stands and what is
 * left.
 *
 * With s snapshots and r repetitions at most beta(s, r) = C(s + r, s) steps can be reversed. Of l steps, with
 * beta(s, r - 1) < l <= beta(s, r), any cut behind m steps is optimal that leaves beta(s, r - 2) <= m <= beta(s, r - 1)
 * in front of it and beta(s - 1, r - 1) <= l - m <= beta(s - 1, r) behind it; the largest m is taken. */
#include "runtime/adstack/adStack.h"
#include "runtime/adstack/die.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct session {
  struct session *outer;
  int first;
  int snapshots;
  int end;      /* steps 0 ... end - 1 are still to be turned */
  int position; /* the program's state is that before this step; -1 when the last turn has spoiled it */
  int cut;      /* the next snapshot is taken here */
  int held;     /* snapshots on the stack; their steps ascend */
  int room;
  int *held_at;
  bool turned;
  bool advancing; /* the last action was an advance */
};

static _Thread_local struct session *current;
static pthread_key_t at_thread_end;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void end_session(struct session *s) {
  current = s->outer;
  free(s->held_at);
  free(s);
}

static void end_thread(void *unused) {
  (void)unused;
  while (current)
    end_session(current);
}

static void make_key(void) {
  pthread_key_create(&at_thread_end, end_thread);
}

void adBinomial_init(int length, int snapshots, int first) {
  static const char call[] = "adBinomial_init";
  if (length <= 0)
    adstack_die(call, "cannot reverse %d steps: at least 1", length);
  if (snapshots < 0 || (snapshots == 0 && length > 1))
    adstack_die(call, "cannot reverse %d steps with %d snapshots: at least 1", length, snapshots);
  struct session *s = calloc(1, sizeof *s);
  if (!s)
    adstack_die(call, "out of memory");
  *s = (struct session){.outer = current, .first = first, .snapshots = snapshots, .end = length};
  current = s;
  pthread_once(&key_once, make_key);
  pthread_setspecific(at_thread_end, s);
}

/* Where to put the next snapshot: the state is at a snapshot, l steps are left, s snapshots count from this one on. */
static int next_cut(const struct session *session) {
  int64_t s = session->snapshots - session->held + 1;
  int64_t l = session->end - session->position;
  if (s < 2 || l < 3)
    return session->end - 1;
  int64_t r = 1, below = 1, beta = s + 1; /* beta(s, r - 1), beta(s, r) */
  while (beta < l) {
    r++;
    below = beta;
    beta = beta * (s + r) / r;
  }
  int64_t behind = below * s / (s + r - 1); /* beta(s - 1, r - 1) */
  int64_t m = l - behind < below ? l - behind : below;
  return session->position + (int)m;
}

static void hold(struct session *s) {
  if (s->held == s->room) {
    s->room = s->room ? 2 * s->room : 16;
    int *grown = realloc(s->held_at, (size_t)s->room * sizeof *grown);
    if (!grown)
      adstack_die("adBinomial_next", "out of memory: %d snapshots", s->held);
    s->held_at = grown;
  }
  s->held_at[s->held++] = s->position;
}

/* One transition; the caller adds the step, which is the position before the action, or of the snapshot restored. */
static enum adBinomial_action next_action(struct session *s, int *step) {
  bool at_snapshot = s->held && s->held_at[s->held - 1] == s->position;
  bool spoiled = s->position < 0;
  if (spoiled)
    s->position = s->held_at[s->held - 1];
  *step = s->position;
  bool last = s->end - s->position == 1;
  if (last && (spoiled || at_snapshot)) {
    s->held--;
    return ADBINOMIAL_POP_SNAPSHOT;
  }
  if (spoiled) {
    s->cut = next_cut(s);
    return ADBINOMIAL_LOOK_SNAPSHOT;
  }
  if (last) {
    bool first_turn = !s->turned;
    s->turned = true;
    s->end = s->position;
    s->position = -1;
    return first_turn ? ADBINOMIAL_FIRST_TURN : ADBINOMIAL_TURN;
  }
  if (s->position == s->cut) {
    hold(s);
    s->cut = next_cut(s);
    return ADBINOMIAL_PUSH_SNAPSHOT;
  }
  s->position++;
  return ADBINOMIAL_ADVANCE;
}

int adBinomial_next(int *action, int *step) {
  struct session *s = current;
  if (!s)
    adstack_die("adBinomial_next", "no loop is open: adBinomial_init comes first");
  if (!s->end) {
    *action = *step = -1;
    end_session(s);
    return 0;
  }
  *action = next_action(s, step);
  *step += s->first;
  s->advancing = *action == ADBINOMIAL_ADVANCE;
  return 1;
}

void adBinomial_resize(void) {
  struct session *s = current;
  if (!s || !s->advancing || s->turned)
    adstack_die("adBinomial_resize", "the last action must be an advance before the first turn");
  s->end = s->position--;
}

void adbinomial_init_(const int *length, const int *snapshots, const int *first) {
  adBinomial_init(*length, *snapshots, *first);
}
int adbinomial_next_(int *action, int *step) {
  return adBinomial_next(action, step);
}
void adbinomial_resize_(void) {
  adBinomial_resize();
}
