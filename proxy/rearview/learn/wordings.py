"""The wordings that tell why a call failed, in English and Chinese; data of `kinds`."""

from rearview_interceptors.api import Kind

# The first wording that fits decides, so narrow ones stand before broad ones. They are in lower case and separated by
# semicolons; one that starts with a tilde is a regular expression. The first three rows look at SDK messages only.
WORDINGS: tuple[tuple[Kind, str], ...] = (
    (
        Kind.UNKNOWN_TOOL,
        r"""unknown tool; toolnotfound; no such tool; tool not found; no tool named; method not found;
        unknown method; unrecognized tool;
        ~\btool ['"`]?[\w.\-/]{1,80}['"`]? (?:is |was )?(?:not found|does not exist|not available|unknown);
        未知工具; 未知的工具; 工具不存在; 找不到工具; 不存在的工具""",
    ),
    (
        Kind.RATE_LIMITED,
        r"""rate limit; requests too quickly; too fast; rate-limit; ratelimit; too many requests; quota exceeded;
        exceeded your quota; throttl; 限流; 请求过于频繁; 请求太频繁; 频率限制; 配额""",
    ),
    (
        Kind.ARGUMENT,
        r"""field required; required property; validation error; invalid type; invalid enum value; input should be;
        ~\bexpected .{1,80}, received; invalid input: expected; invalid option: expected; is not of type;
        ~^required at; invalid argument; invalid parameter; missing required; unsupported parameter;
        parameters not supported; unexpected keyword argument; additional properties; unrecognized key;
        too small; too big; ~too (?:big|small): expected; is not one of; must contain at least;
        missing 1 required; missing argument; ~\bparameter\W.{0,40}\brequire[sd];
        ~only .{1,60} (?:are|is) allowed; queries are not allowed; 参数错误; 参数无效; 无效的参数; 缺少参数;
        缺少必; 参数校验""",
    ),
    (
        Kind.NOT_FOUND,
        r"""~\bno such (?:table|column|file|collection|index|database|key|bucket|container|image|branch)\b""",
    ),
    (
        Kind.TRANSIENT,
        r"""~\b(?:try|retry)(?: it| this| again)* (?:(?:later|shortly|soon)\b|(?:in|after) (?:an? |some |few |\d));
        稍后再试; 稍后重试; 请稍后; 请稍候; 稍等; 未就绪; 尚未就绪; 未准备好; 没有准备好""",
    ),
    (
        Kind.PRECONDITION,
        r"""not found in the current page; modal state; no session; no active; session not found;
        ~session \S+ not found; not initialized; not been initialized; not logged in; log in first; login first;
        must be called first; nothing to commit; no changes staged; needs merge; current index first;
        would be overwritten; please commit your changes; not connected; is not open; no open;
        ~\bno \w+ (?:is )?(?:loaded|selected|open)\b;
        ~\b(?:call|run|use|open|create|load|read|start|select|take|fetch) [^.]{1,60} (?:first|before)\b;
        must first; stale; has not been read; index.lock; has been modified since; ~unmerged|merge conflict;
        process may have exited; 请先; 尚未; 未初始化; 未登录; 未打开; 未连接; 必须先""",
    ),
    (
        Kind.FORBIDDEN,
        r"""access denied; permission denied; not permitted; path not allowed; not allowed; outside allowed;
        is outside; unauthorized; forbidden; must be owner; is blocked; not authorized; authentication required;
        authentication failed; insufficient; read-only; readonly database; bad credentials; not accessible;
        access to; not in the subpath;
        ~\bnot (?:within|inside|under|below) (?:the |an? |any )?(?:\w+ )?(?:allowed|permitted|workspace|root|sandbox);
        没有权限; 权限不足; 无权; 拒绝访问; 访问被拒绝; 未授权; 禁止""",
    ),
    (
        Kind.ENVIRONMENT,
        r"""connection refused; could not resolve host; getaddrinfo; fetch failed; failed to fetch; no space left;
        out of memory; command not found; ~(?m)^(?:\S+: )+(?:\d+: )?\S+: not found$; cannot find module;
        modulenotfound; no module named; not installed; api key; apikey; access token; certificate; ~\bssl\b;
        could not connect; failed to connect; couldn't connect; connection to server; connection error;
        connectionerror; max retries; network; no internet; environment variable; could not find config;
        not configured; executable; launch the browser; interrupted by another navigation; err_unsafe_port;
        err_too_many_redirects; err_aborted; 未安装; 连接失败; 无法连接; 连接被拒绝; 环境变量; 未配置; 密钥""",
    ),
    (
        Kind.TRANSIENT,
        r"""timeout; timed out; time out; temporarily; service unavailable; bad gateway; gateway time;
        socket hang up; connection reset; connection closed; deadlock; is locked; overloaded;
        internal server error; internal error; another git process; by another process;
        ~\b(?:is|are|or resource|resource|server|system|device|too|currently|still) busy\b; ~\bstarting up\b;
        ~(?:\bnot|n't) (?:yet |fully )?ready\b;
        ~\b(?:still|currently) (?:being (?:\w+ed|built)|(?:index|load|start|boot|initiali[sz]|warm|build)ing)\b;
        ~\b(?:still|currently) (?:process|sync|compil|updat|import|prepar)\w*ing\b;
        ~正在(?:建立|构建|重建)?(?:索引|启动|重启|加载|初始化|处理|同步|构建|编译|更新); 超时; 稍后; 繁忙; 忙碌; 暂时;
        被占用""",
    ),
    (
        Kind.EMPTY,
        r"""no results; no matches; no matching; nothing found; no records; no data found; 0 results; no rows;
        ~\bno [\w ]{1,30} found(?:$|[.,!]| that\b| matching\b| for\b); 没有结果; 无结果; 没有匹配; 没有数据;
        未查询到""",
    ),
    (
        Kind.ARGUMENT,
        r"""~^(?:\W*)invalid\b; syntax error; sql syntax; is ambiguous; nonaggregated; syntaxerror; unterminated;
        unrecognized token; incomplete input; must be; must provide; must specify; cannot specify both;
        constraint failed; already exists; division by zero; not a directory; is a directory;
        not a valid integer; cannot cast; must appear in; parse error; expecting value; but found;
        unexpected token; malformed; out of range; values were supplied; one statement; not a number;
        is not defined; bad request; strict mode violation; unknown key; not configurable; element is not;
        ~(?:does not|doesn't|did not|didn't|must) match (?:\S+ ){0,3}(?:format|pattern|schema|type|regex|regular)\b;
        ~^(?:[\w ]+: )?'' (?:does not|doesn't) match ''; unconverted data;
        unsupported; cannot start with; operator does not exist; not enough; add up; duplicate;
        cannot navigate to invalid; not a valid url; 格式错误; 格式不正确;
        ~(?:类型|格式|模式).{0,20}不匹配; 无效; 必须; 不能为空; 语法错误;
        已存在; 不支持; 不合法; 非法""",
    ),
    (
        Kind.NOT_FOUND,
        r"""no such; not found; does not exist; doesn't exist; did not match; does not match; did not resolve;
        could not be resolved; could not find; cannot find; can't find; couldn't find; unable to find;
        unable to locate; not a git repository; no item; not a valid object; no files matching; unknown;
        missing; has no column; cannot access; filenotfound; keyerror; no longer exists; not available;
        not recognized; 找不到; 不存在; 未找到; 没有找到""",
    ),
    (
        Kind.TRANSIENT,
        r"""~\bplease (?:retry|try again)\s*(?:$|[.,!)]);
        ~\bplease retry (?:your|the|this) (?:request|call|operation)\b; 请重试""",
    ),
    (
        Kind.ARGUMENT,
        r"""invalid; required; expected; cannot; failed to parse; typeerror; valueerror; zerodivision;
        referenceerror; nameerror; attributeerror; indexerror; syntaxerror; unboundlocal; overflowerror;
        not contain; yet support; too long""",
    ),
)
