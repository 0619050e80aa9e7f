/* template_marks.h - tokens whose names are no ASCII: DeepSeek's, with U+FF5C for bars and U+2581 for blanks. */
#ifndef TEMPLATE_MARKS_H
#define TEMPLATE_MARKS_H
#define TEMPLATE_DEEPSEEK_BEGIN     "<\xef\xbd\x9c" "begin\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"
#define TEMPLATE_DEEPSEEK_END       "<\xef\xbd\x9c" "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"
#define TEMPLATE_DEEPSEEK_USER      "<\xef\xbd\x9cUser\xef\xbd\x9c>"
#define TEMPLATE_DEEPSEEK_ASSISTANT "<\xef\xbd\x9c" "Assistant\xef\xbd\x9c>"
#endif
