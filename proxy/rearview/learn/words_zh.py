"""Chinese sentences and words."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

HELD = "Rearview 暂缓了这次调用，尚未执行：{fact}。"
NOTE = "Rearview 提示：{fact}。"
REPEAT = "如仍要执行，请原样重复这次调用。"
ONCE = "此前有一次运行这样继续：{remedy}"
AND = ""

FACTS = {
    "runs": "此前这样调用的 {met} 次运行中有 {failed} 次失败{when}",
    "exact": "完全相同的调用在此前 {met} 次运行中失败了 {failed} 次{when}",
    "schema": "这次调用不符合该工具自己的参数模式",
    "session_exact": "完全相同的调用在本次会话中已经失败过",
    "session_grounded": "同样的原因在本次会话中已经导致调用失败",
    "session_loop": "同样的失败在本次会话中已出现 {failed} 次",
}
WHEN = {
    "": "",
    "today": "，最近一次是今天",
    "yesterday": "，最近一次是昨天",
    "days": "，最近一次是 {n} 天前",
    "weeks": "，最近一次是 {n} 周前",
    "months": "，最近一次是两个多月前",
}

WHY = {
    "argument": "参数未被接受。",
    "argument:field": "`{field}`（{form}）未被接受。",
    "argument:text": "`{field}` 中的某些内容未被接受。",
    "missing": "缺少 `{field}`。",
    "precondition": "需要先完成另一个步骤。",
    "precondition:field": "`{field}`（{form}）需要先完成另一个步骤。",
    "not_found": "所指的对象不存在。",
    "not_found:field": "`{field}`（{form}）所指的对象不存在。",
    "not_found:text": "`{field}` 中提到或引用的内容不存在。",
    "forbidden": "访问被拒绝。",
    "forbidden:field": "`{field}`（{form}）被拒绝。",
    "rate_limited": "请求过于频繁。",
    "transient": "服务器繁忙或太慢。",
    "environment": "服务器所需的某些东西缺失或没有运行。",
    "unknown_tool": "服务器没有这个工具。",
    "empty": "没有找到任何内容。",
    "other": "服务器返回了错误。",
    "other:field": "使用 `{field}`（{form}）时失败。",
    "other:text": "使用 `{field}` 中的内容时失败。",
}

REMEDY = {
    "rename": "请用 `{to}` 代替 `{field}`。",
    "add": "请加上 `{field}`。",
    "add:form": "请加上 `{field}`：{form}。",
    "drop": "请去掉 `{field}`。",
    "write": "请把 `{field}` 写成 `{to}`。",
    "write_typed": "请把 `{field}` 写成{form}：`{to}`。",
    "as_form": "请把 `{field}` 写成{form}。",
    "inside": "请使用服务器获准的文件夹（`{to}`）内的路径。",
    "one_of": "`{field}` 只接受 `{to}` 之一。",
    "listed": "请使用模式为 `{field}` 列出的值之一。",
    "known_name": "在 `{field}` 中，名称 `{to}` 在这里可用。",
    "call_first": "请先调用 `{to}`。",
    "wait": "请稍候，并先确认哪些操作已生效，再重试。",
}

ADVICE = {
    "argument": "请对照该工具的参数模式检查参数。",
    "precondition": "请先重新获取当前状态，再按其内容调用。",
    "not_found": "请先查看有哪些对象存在。",
    "not_found:field": "请先确认 `{field}` 所指的对象存在。",
    "not_found:text": "请先查出准确的名称或原文。",
    "not_found:path": "请先确认该路径存在，例如列出其所在文件夹。",
    "forbidden": "请使用你有权访问的对象，或询问用户。",
    "forbidden:path": "请使用服务器获准的文件夹内的路径。",
    "rate_limited": "请等一会儿再调用。",
    "transient": "请稍候，并先确认哪些操作已生效，再重试。",
    "environment": "请确认它已安装、配置并在运行，或告知用户。",
    "unknown_tool": "请使用当前工具列表中的名称。",
    "empty": "请换用其他搜索词。",
    "other": "请改变调用内容，或换一种做法。",
}

FORMS = {
    "string": "文本", "number": "数字", "integer": "整数", "boolean": "true 或 false", "array": "列表",
    "object": "对象", "null": "null", "bool": "true 或 false", "num+": "正数", "num-": "负数", "num0": "零",
    "emptylist": "空列表",
    "emptydict": "空对象", "blank": "空文本", "json": "JSON 文本", "url": "URL", "text": "较长的文本",
    "abspath": "绝对路径", "relpath": "相对路径", "uppath": "通向所在文件夹之外的路径",
    "homepath": "用户主目录中的路径", "datetime": "带时间的日期", "date": "日期",
    "otherdate": "其他格式的日期", "time": "时间", "numstr": "文本形式的数字",
    "id": "标识符", "listtext": "文本形式的列表",
    "mail": "电子邮件地址",
    "word": "一个词", "words": "几个词",
    "date_dashes": "日期：四位年、两位月、两位日，用短横线连接",
    "date_slashes": "日期：四位年、两位月、两位日，用斜线连接",
    "date_dots": "日期：四位年、两位月、两位日，用点连接",
    "date_digits": "八位数字",
    "datetime_t_minutes": "年-月-日、字母 T、时:分，均补零",
    "datetime_t": "年-月-日、字母 T、时:分:秒，均补零",
    "datetime_utc": "年-月-日、字母 T、时:分:秒、字母 Z，用 UTC 时间",
    "datetime_utc_minutes": "年-月-日、字母 T、时:分、字母 Z，用 UTC 时间",
    "datetime_blank_minutes": "年-月-日、空格、时:分，均补零",
    "datetime_blank": "年-月-日、空格、时:分:秒，均补零",
    "clock": "按 24 小时制的时:分，各两位",
    "clock_seconds": "按 24 小时制的时:分:秒，各两位",
    "unix": "十位数字（Unix 秒）", "digit": "一位数字", "digits": "{n}位数字", "letter": "一个字母",
    "letters": "{n}个字母",
    "dash": "短横线", "slash": "斜线", "dot": "点", "colon": "冒号", "underscore": "下划线", "space": "空格",
    "at": "@ 号", "plus": "加号", "then": "、",
    "2": "两", "3": "三", "4": "四", "5": "五", "6": "六", "7": "七", "8": "八", "9": "九",
}  # fmt: skip
