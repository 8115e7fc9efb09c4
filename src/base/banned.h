/* banned: calls that this program does not make, turned into compile errors.
 *
 * The build puts this file in front of every source of ours (not of third parties). The system
 * headers that declare the calls come first, so that their declarations stay whole. */
#ifndef WB_BASE_BANNED_H
#define WB_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The first identifier is undeclared on purpose: it is the compiler's error message. */
#define WB_BANNED(call, instead) banned_call_##call##_use_##instead

/* No bound: build text with struct wb_text or snprintf. */
#undef strcpy
#define strcpy(...) WB_BANNED(strcpy, wb_text)
#undef strcat
#define strcat(...) WB_BANNED(strcat, wb_text)
#undef strncpy
#define strncpy(...) WB_BANNED(strncpy, wb_text)
#undef strncat
#define strncat(...) WB_BANNED(strncat, wb_text)
#undef sprintf
#define sprintf(...) WB_BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) WB_BANNED(vsprintf, vsnprintf)

/* Hidden state that threads share. */
#undef strtok
#define strtok(...) WB_BANNED(strtok, wb_span)
#undef localtime
#define localtime(...) WB_BANNED(localtime, localtime_r)
#undef gmtime
#define gmtime(...) WB_BANNED(gmtime, gmtime_r)
#undef ctime
#define ctime(...) WB_BANNED(ctime, strftime)
#undef asctime
#define asctime(...) WB_BANNED(asctime, strftime)

/* A shell, and a child without a guard: sys/ starts processes. */
#undef system
#define system(...) WB_BANNED(system, wb_child)
#undef popen
#define popen(...) WB_BANNED(popen, wb_child)

#endif
